"""What a plan assumes where nothing was measured or given, each with its reason and source."""

from __future__ import annotations

# With rsyslog 8.2302, Elasticsearch 8.19 and messages of 244 bytes; the rates with other profiles.
_SEEN = "this project's, on 2 cores with examples/published/p1-production.yaml"

PEAK_WHY = "the peak is assumed to equal --rate; give --peak 3 when --rate is a mean"
GROWTH_WHY = "no growth is assumed; give --growth 30% to plan for some"

MESSAGE_BYTES = 244.0
MESSAGE_WHY = "the mean of the ELMA tests (2012) and of our profiles; give --sample or a run"

RETENTION_S = 30 * 86400.0
RETENTION_WHY = "as Elasticsearch's ready-made 30-day policy; your own policy decides"

REPLICAS = 1.0
REPLICAS_WHY = "index.number_of_replicas of both engines where nobody sets it"

OUTAGE_S = 900.0
OUTAGE_WHY = "time to notice and to restart an engine; give what your operators promise"

# The freshness of `bench` is measured at this load too: tuner/cli/bench.py.
HEADROOM = 0.3
HEADROOM_WHY = "`bench` measures freshness at seven tenths of the highest rate; waits grow above it"

COLLECTOR_CORES = 4.0
COLLECTOR_CORES_WHY = "few, because the threads of one rsyslogd share locks"

NODE_CORES = 8.0
NODE_CORES_WHY = "one for 8 GiB of memory: 64 GiB, half of it heap (31 GiB at most)"

SHIPPER_US = 11.5
SHIPPER_WHY = f"{_SEEN}; 5 when tuned"

ENGINE_US = 28.0
ENGINE_WHY = f"{_SEEN}; 16 to 34 with others"

# 2 action workers carried 51,000 events per second.
CONNECTION_US = 2 / 51_000 * 1e6
CONNECTION_WHY = f"{_SEEN}: 2 workers carried 51,000 EPS"

# 23.44 MiB for 100,000 messages of 244 bytes: ELMA appliance tests, 2012.
STORE_RATIO = 246 / 244
STORE_WHY = (
    "as the 246 bytes for 244 of the ELMA tests (2012); this project's: 190 with an explicit "
    "mapping, 400 with a dynamic one"
)

BULK_OVERHEAD_BYTES = 270.0
BULK_WHY = "the message and 270 bytes of action line and JSON; this project's are 205 to 272"

# 1 GiB of server logs: 9.4 at level 1, 14.3 at level 9 (stefanseidel.info/Log_file_compression).
# 100,000 messages of the ELMA tests: 23.26 to 0.29 MiB.
GZIP_RATIO = 10.0
GZIP_WHY = (
    "server logs give 9 to 14, generated test messages up to 80; give --sample to measure yours"
)

# Of hot and of warm nodes: Elastic, AutoOps insights "High memory-to-disk ratio on hot nodes" and
# "... on warm nodes".
DISK_TO_MEMORY = (30, 160)
NODE_DISK_BYTES = DISK_TO_MEMORY[0] * 64 * 1024.0**3
NODE_DISK_WHY = "64 GiB of memory and Elastic's ratio of 1:30 for hot nodes"

QUEUE_MEMORY_WHY = "the message and what rsyslog 8.2302 was measured to need beside it"
# The properties with their names, as runtime/msg.c (MsgSerialize) writes them, for host names and
# tags of usual length.
QUEUE_FILE_OVERHEAD_BYTES = 430.0
QUEUE_FILE_WHY = "the message and 430 bytes of properties, calculated from what rsyslog writes"

# 15 % under the low disk watermark of 85 % and 10 % for errors and background work such as merges:
# Elastic, "Benchmarking and sizing your Elasticsearch cluster for logs and metrics".
DISK_ROOM = 0.25

# Elasticsearch, "Size your shards": 10 GB to 50 GB, up to 200 million documents; its default
# rollover (cluster.lifecycle.default.rollover) has the same upper ends.
SHARD_BYTES = 50 * 1024.0**3
SHARD_WHY = "the upper end of the 10 to 50 GB that Elasticsearch documents, and its rollover"
SHARD_DOCUMENTS = 200_000_000

# cluster.max_shards_per_node of both engines; 25 shards per GiB of heap: AWS, OpenSearch lens,
# AOSPERF01-BP01, with 31 GiB of heap.
SHARDS_PER_NODE = 1000
SHARDS_BY_HEAP = 25 * 31

# index.number_of_shards: Elasticsearch's es.index.max_number_of_shards.
PRIMARIES_PER_INDEX = 1024

# imtcp's MaxSessions: it refuses the next one.
SESSIONS = 200
