"""rsyslog with omelasticsearch, and with omhttp."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.peers.peer import Place, Tuning
from tuner.engine.numbering import FIELD, FIRST_OUTPUT
from tuner.lab.numbered import OF_HEAD
from tuner.script.quoting import quote
from tuner.space.table import REPLY_FILTER

_DOCUMENT = (
    '{"@timestamp":"%timereported:::date-rfc3339%","host":"%hostname:::json%",'
    '"program":"%programname:::json%","severity":"%syslogseverity-text%",'
    '"facility":"%syslogfacility-text%","message":"%msg:::json%",'
    f'"{FIELD}":{FIRST_OUTPUT}{OF_HEAD}}}'
)
_REPLY = ",".join(REPLY_FILTER)


@dataclass(frozen=True)
class Rsyslog:
    """rsyslogd at a path; `output` is omelasticsearch or omhttp, which may compress."""

    name: str
    rsyslogd: Path
    output: str = "omelasticsearch"
    compress: bool = False

    def configuration(self, at: Place, tuning: Tuning | None) -> str:
        """Stock: what the manual shows first, all else at rsyslog's defaults."""
        kind = "imtcp" if tuning is None else "imptcp"
        lines = [
            f"global(workDirectory={quote(str(at.folder))})",
            f'module(load="{kind}")',
            f'module(load="{self.output}")',
            f'input(type="{kind}" address="127.0.0.1" port="{at.port}")',
            f'template(name="document" type="string" string={quote(self._text(at))})',
        ]
        if tuning is not None:
            lines.insert(
                1, 'main_queue(queue.type="FixedArray" queue.size="100000" '
                'queue.dequeueBatchSize="1024" queue.workerThreads="1")',
            )  # fmt: skip
        return "\n".join([*lines, self._action(at, tuning), ""])

    def _text(self, at: Place) -> str:
        if self.output == "omelasticsearch":
            return _DOCUMENT
        # A batch ends with a line end, and each document has its own.
        return f'{{"index":{{"_index":"{at.index}"}}}}\n{_DOCUMENT}\n'

    def _action(self, at: Place, tuning: Tuning | None) -> str:
        host, _, port = at.engine.removeprefix("http://").partition(":")
        parameters = [f'type="{self.output}" server="{host}" serverport="{port}"']
        parameters.append('template="document"')
        if self.output == "omelasticsearch":
            parameters.append(f'searchIndex="{at.index}" searchType="" bulkmode="on"')
            if tuning is not None:
                parameters.append(f'timeout="1m&filter_path={_REPLY}"')
        else:
            path = "_bulk" if tuning is None else f"_bulk?filter_path={_REPLY}"
            parameters.append(
                f'useHttps="off" restpath="{path}" batch="on" batch.format="newline" '
                'httpContentType="application/x-ndjson"'
            )
            if self.compress:
                parameters.append('compress="on" compress.level="1"')
        if tuning is not None:
            batch, workers = tuning.batch, tuning.workers
            parameters.append(
                f'queue.type="LinkedList" queue.size="50000" queue.dequeueBatchSize="{batch}" '
                f'queue.workerThreads="{workers}" queue.workerThreadMinimumMessages="{batch}" '
                'queue.timeoutEnqueue="86400000" queue.timeoutShutdown="10000" '
                'action.resumeRetryCount="-1"'
            )
            if self.output == "omhttp":
                parameters.append(f'batch.maxsize="{batch}" batch.maxbytes="50m"')
        return f"action({' '.join(parameters)})"

    def command(self, at: Place, configuration: Path) -> list[str]:
        """rsyslogd in the foreground."""
        return [
            str(self.rsyslogd), "-n", "-f", str(configuration), "-i", str(at.folder / "pid"),
        ]  # fmt: skip
