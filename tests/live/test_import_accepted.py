"""What `import --convert` makes of configurations that rsyslogd accepts is accepted by it too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

RUN = CliRunner()
UDP = 'module(load="imudp") input(type="imudp" address="127.0.0.1" port="10514")\n'
DOCUMENT = 'template(name="doc" type="string" string="{\\"message\\":\\"%msg:::json%\\"}")\n'
CASES = {
    "templates of topics": (
        f'{UDP}module(load="omkafka")\n'
        'template(name="topic" type="string" string="logs-%syslogseverity-text%")\n'
        'action(type="omkafka" broker="127.0.0.1:9092" topic="topic" dynatopic="on" '
        'template="RSYSLOG_FileFormat")\n'
    ),
    "templates of types and pipelines": (
        f'{UDP}{DOCUMENT}module(load="omelasticsearch")\n'
        'template(name="kind" type="string" string="%hostname%_logs")\n'
        'template(name="pipe" type="string" string="pipe-%syslogfacility-text%")\n'
        'action(type="omelasticsearch" template="doc" searchIndex="a" searchType="kind" '
        'dynSearchType="on" bulkmode="on")\n'
        'action(type="omelasticsearch" template="doc" searchIndex="b" pipelineName="pipe" '
        'dynPipelineName="on" bulkmode="on")\n'
    ),
    "a ruleset that is bound and called": (
        'module(load="imtcp") module(load="imudp") module(load="omelasticsearch")\n'
        'input(type="imtcp" port="10514" ruleset="in_tcp")\n'
        'input(type="imudp" port="10514" ruleset="central")\n'
        'ruleset(name="in_tcp") { set $.secure = "false"; call central }\n'
        'ruleset(name="central" queue.type="LinkedList") {\n'
        '    action(type="omelasticsearch" server="es1.example.org" searchIndex="logs" '
        'bulkmode="on" queue.type="LinkedList" action.resumeRetryCount="-1")\n}\n'
    ),
    "counters that call a stream": (
        'module(load="impstats" interval="60" format="cee" log.syslog="on" ruleset="stats")\n'
        'module(load="imtcp") input(type="imtcp" port="10514" ruleset="central")\n'
        'ruleset(name="stats") { call central }\n'
        'ruleset(name="central" queue.type="LinkedList") {\n'
        '    action(type="omfile" file="/var/log/all.log")\n}\n'
    ),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_rsyslogd_takes_the_configuration_and_what_is_made_of_it(text: str, tmp_path: Path) -> None:
    conf = tmp_path / "site.conf"
    conf.write_text(text, encoding="utf-8")
    done = RUN.invoke(app, ["import", "--convert", str(conf)])
    assert done.exit_code == 0, done.exception or done.stderr
    assert f"rsyslogd -N1 accepts {conf}" in done.stderr
    assert "rsyslogd -N1 accepts what the profile renders" in done.stderr
