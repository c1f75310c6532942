"""Secrets of a configuration are written nowhere: not in the profile, a snippet, a list or an
error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.importer.test_import import DOCUMENT, imported, listed
from tuner.cli.commands import app
from tuner.errors import BadUsage, DifferencesFound
from tuner.importer.translate import translate
from tuner.importer.written import profile_text
from tuner.rainerscript.configuration import configuration
from tuner.rainerscript.hiding import hidden
from tuner.rainerscript.script import Parameter, ScriptPosition
from tuner.rainerscript.secrets import embedded, form_of_secret, secret_header

CANARY = "Zk9dQ2mX7vT4bR8nLw3c"
UUID = "9f8b1c2d-3e4f-4a5b-8c6d-7e8f9a0b1c2d"
HTTP = 'action(type="omhttp" server="h" restpath="{path}" template="d"{more})\n'
HEADERS = HTTP.format(path="d", more=" httpheaders=[{}]")
KEPT = HTTP.format(path="d", more=' dynrestpath="on" {}')
KAFKA = 'action(type="omkafka" topic="t" broker="k:9092" template="d" confParam=["{param}"])\n'
PROGRAM = 'action(type="omprog" binary="{binary}" template="d")\n'

# What holds it, and what is said of where it stood; None where a file stands for it.
CANARIES: dict[str, tuple[str, str | None]] = {
    "Bearer": (HEADERS.format(f'"Authorization: Bearer {CANARY}"'), None),
    "Basic": (HEADERS.format(f'"Authorization: Basic {CANARY}="'), None),
    "X-API-KEY": (HEADERS.format(f'"X-API-KEY: {CANARY}"'), None),
    "a header of another name": (HEADERS.format(f'"X-Me: {CANARY}"'), None),
    "a kept header": (KEPT.format(f'httpheaders=["X-A: b", "DD-API-KEY: {CANARY}"]'), None),
    "Splunk": (KEPT.format(f'httpheaders=["Authorization: Splunk {CANARY}"]'), None),
    "the value of a header": (
        KEPT.format(f'httpheaderkey="X-Me" httpheadervalue="{CANARY}"'), None,
    ),
    "a path": (HTTP.format(path=f"api/v2/{CANARY}/logs", more=""), "long random text, restpath"),
    "an option of a path": (
        HTTP.format(path=f"logs?token={CANARY[:8]}", more=""), "a key such as password= or token:",
    ),
    "sasl.jaas.config": (
        KAFKA.format(param=f"sasl.jaas.config=x.Login required username=u password={CANARY};"),
        "a key such as password= or token:, confParam",
    ),
    "ssl.key.pem": (
        KAFKA.format(param=f"ssl.key.pem=-----BEGIN PRIVATE KEY-----{CANARY}"),
        "a private key, confParam",
    ),
    "sasl.password": (KAFKA.format(param=f"sasl.password={CANARY[:6]}"), "confParam"),
    "--password": (PROGRAM.format(binary=f"/bin/x --password {CANARY}"), "an argument"),
    "-u": (PROGRAM.format(binary=f"/bin/curl -u me:{CANARY} h"), "an argument of a program"),
    "env": (PROGRAM.format(binary=f"/usr/bin/env API_KEY={CANARY} /bin/x"), "binary"),
    "cry.key": (
        'action(type="omfile" file="/a" template="d" cry.provider="gcry" '
        f'cry.key="{CANARY}")\n', None,
    ),
    "queue.cry.key": (
        'action(type="omlibdbi" queue.type="Disk" queue.cry.provider="gcry" '
        f'queue.cry.key="{CANARY}")\n', None,
    ),
    "azure_key": (
        'action(type="omazureeventhubs" azurehost="h" azure_key_name="n" '
        f'azure_key="{CANARY}")\n', None,
    ),
    "environment": (f'global(environment=["API_KEY={CANARY}"])\n', "environment"),
    "a token of a template": (
        f'template(name="l" type="string" string="<%pri%>1 [{UUID}@41058] %msg%\\n")\n'
        'action(type="omfwd" target="h" template="l")\n',
        "a token before a private enterprise number, string",
    ),
    "a token of a list template": (
        f'template(name="l" type="list") {{ constant(value="token={CANARY} ") property(name="msg") '
        'constant(value="\\n") }\naction(type="omfile" file="/a" template="l")\n',
        "a key such as password= or token:, value",
    ),
    "a variable": (f'set $!key = "{CANARY}";\n', "long random text"),
    "a condition": (f'if $!key == "{CANARY}" then /var/log/a\n', "long random text"),
    "a kept condition": (
        f'if $!key == "{CANARY}" then action(type="omlibdbi")\n', "long random text",
    ),
    "a web token": (
        f'set $!t = "eyJhbGciOiJI.eyJzdWIiOiIx.{CANARY}";\n', "a JSON web token",
    ),
    "a login in an address": (
        f'action(type="ommongodb" uristr="mongodb://u:{CANARY}@h/db")\n',
        "a user and a password before a host",
    ),
    "a login with an escape": (
        f'action(type="ommongodb" uristr="mongodb://u%40x:{CANARY}@h/db")\n',
        "a user and a password before a host",
    ),
    "an old line": (f"*.* >db,logs,u,{CANARY}\n", "legacy of an old line"),
    "an input": (
        'module(load="imkafka")\n'
        f'input(type="imkafka" topic="t" confParam=["sasl.password={CANARY}"])\n',
        "confParam",
    ),
    "a path of a server": (
        f'action(type="omelasticsearch" server="http://h/{CANARY}/es" template="d")\n', "a path",
    ),
    "a word that does not fit": (
        f'ruleset(name="r") |/bin/x {CANARY}\n', "this text does not fit here",
    ),
    "a password without quotes": (
        f'action(type="omelasticsearch" pwd={CANARY})\n', "this text does not fit here",
    ),
    "a header without quotes": (
        f'action(type="omhttp" httpheaders=["a" {CANARY}])\n', "this text does not fit here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CANARIES)
def test_no_secret_is_written(what: str, tmp_path: Path) -> None:
    text, said = CANARIES[what]
    path = tmp_path / "site.conf"
    path.write_text(DOCUMENT + text, encoding="utf-8")
    made = translate(configuration([path]), "site")
    written = profile_text(made, ["site.conf"]) + "".join(made.snippets.values())
    for secret in (CANARY, UUID, CANARY[:6]):
        assert secret not in written + repr(made)
    if said is None:
        assert "put it, without a line end, into" in written
    else:
        assert any(said in one.message for one in made.missing), made.missing


def test_a_member_called_like_a_time_is_no_login(tmp_path: Path) -> None:
    """The template for Logstash in rsyslog's documentation."""
    pieces = "{%timestamp:::date-rfc3339,jsonf:@timestamp%,%msg:::jsonf:message%}"
    path = tmp_path / "site.conf"
    text = f'template(name="l" type="string" string="{pieces}")\n'
    path.write_text(f'{DOCUMENT}{text}action(type="omelasticsearch" template="l")\n', "utf-8")
    made = translate(configuration([path]), "site")
    assert (made.missing, len(made.data["outputs"])) == ((), 1)  # type: ignore[arg-type]


def test_a_secret_that_is_left_out_is_copied_on_request_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    path, profile = tmp_path / "site.conf", tmp_path / "site.yaml"
    path.write_text(DOCUMENT + CANARIES["--password"][0], encoding="utf-8")
    words = ["import", str(path), "--convert", "--with-secrets", "--release", "8.2302"]
    assert isinstance(CliRunner().invoke(app, words).exception, BadUsage)
    done = CliRunner().invoke(app, [*words, "-o", str(profile), "--output", "json"])
    assert CANARY not in done.output + profile.read_text(encoding="utf-8")
    assert json.loads(done.stdout)["snippets"] == {"site-outputs.conf": "", "site-start.conf": ""}
    for name in ("site-outputs.conf", "site-start.conf"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert CANARY in (tmp_path / "site-outputs.conf").read_text(encoding="utf-8")
    for is_private in (True, False):
        if not is_private:
            (tmp_path / "site-outputs.conf").write_text('action(type="omfile" file="/a")\n')
        out = tmp_path / f"out-{is_private}"
        rendered = CliRunner().invoke(app, ["render", str(profile), "-o", str(out)])
        assert rendered.exit_code == 0, rendered.output
        assert CANARY not in rendered.output
        assert ((out / "rsyslog.conf").stat().st_mode & 0o777 == 0o600) is is_private


def test_without_that_the_command_says_where_it_stood(tmp_path: Path) -> None:
    path = tmp_path / "site.conf"
    engine = 'action(type="omelasticsearch" template="d")\n'
    path.write_text(DOCUMENT + engine + CANARIES["--password"][0], encoding="utf-8")
    done = CliRunner().invoke(app, ["import", str(path), "--convert", "--release", "8.2302"])
    assert isinstance(done.exception, DifferencesFound)
    assert CANARY not in done.output
    (line,) = [one for one in done.stderr.splitlines() if "not imported" in one]
    assert "may hold a secret: an argument of a program" in line.replace("\n", " ")
    assert "--with-secrets copies it" in line


# What stands there without quotes is not told from other text.
UNQUOTED = {
    "a word that does not fit",
    "a header without quotes",
}


@pytest.mark.parametrize("what", sorted(CANARIES.keys() - UNQUOTED))
def test_no_secret_is_shown_where_files_differ(what: str) -> None:
    text, _ = CANARIES[what]
    shown = hidden(text)
    for secret in (CANARY, UUID, CANARY[:6]):
        assert secret not in shown
    assert hidden(DOCUMENT) == DOCUMENT


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("*.* :ommysql:db,Syslog,me,s3cret;t\n", "*.* :ommysql:db,Syslog,me,***;t\n"),
        ("*.* :ompgsql:db,Syslog,me,s3 cret,\n", "*.* :ompgsql:db,Syslog,me,***\n"),
        ("+*.* >db,Syslog,me,s3cret\n*.* /a\n", "+*.* >db,Syslog,me,***\n*.* /a\n"),
        ("-& >db,a,,s3cret", "-& >db,a,,***"),
        ("*.* >db,Syslog,\\\n  me,s3cret", "*.* >db,Syslog,\\\n  me,***"),
        ("+$ActionLibdbiPassword s3cret\n", "+$ActionLibdbiPassword ***\n"),
        ("$ActionSNMPCommunity s3cret # x\n", "$ActionSNMPCommunity ***\n"),
        ('type="omsnmp" community="s3cret"', 'type="omsnmp" community="***"'),
        ('httpheadervalue="s3cret" port="1"', 'httpheadervalue="***" port="1"'),
        (r'pwd="ab\"s3cret" uid="u"', 'pwd="***" uid="u"'),
        (r"pwd='ab\'s3cret\\' uid='u'", "pwd='***' uid='u'"),
        ('pwd="s3\\\n  cret" uid="u"', 'pwd="***\n***" uid="u"'),
        ("pwd='s3\ncret' uid='u'", "pwd='***\n***' uid='u'"),
        ('pwd="s3cret\nmore', 'pwd="***\n***'),
        ('pwd=s3cret uid="u"', 'pwd=*** uid="u"'),
        ("(type=omsnmp community = s3cret)", "(type=omsnmp community = ***)"),
        ("set $!pwd = cnum(1); if $!pwd == 1 then stop", None),
        ('# pwd="a\npwd="s3cret" uid="u"', '# ***\npwd="***" uid="u"'),
        ('f("Authorization: Bearer\\\n s3cret0=")', 'f("***\n***")'),
        ("*.* >db,Syslog,me,s3\\\ncret;t", "*.* >db,Syslog,me,***\n***;t"),
        ("$ActionLibdbiPassword s3\\\n cret\n", "$ActionLibdbiPassword ***\n***\n"),
        ('tls.mykey="/etc/es.key"', None),
        ('if $!a > 5 then set $.b = f($.a, 2, 3, 4);', None),
        ('rotation.sizeLimitCommandPassFileName="on"', None),
        ("if $!n >5 then /a,b,c,d\n$WorkDirectory /var\n", None),
    ],
)  # fmt: skip
def test_secrets_of_every_form_are_hidden(text: str, shown: str | None) -> None:
    assert hidden(text) == (text if shown is None else shown)
    assert hidden(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "pass" * 250_000, f'"{"passw" * 20_000}"', "a=" * 100_000, "\"'" * 100_000,
        'pwd="' * 60_000, f"a {' ' * 200_000}", f'"{"Basic " * 15_000}"', f'"{"//a:" * 25_000}"',
        f'"{" -passw" * 10_000}"', f'"{"eyJ" * 30_000}"', "-" * 200_000,
        ">" * 200_000, ":ommysql:" * 20_000, ">a,b," * 40_000, "$pass" * 40_000,
        'pwd="\\"' * 40_000, "pwd=\"' pwd='\\\"" * 20_000, 'pwd="\\\n' * 40_000,
        "$" + "pass" * 50_000, "+" * 200_000, f"$a{' ' * 200_000}",
    ],
    ids=range(21),
)  # fmt: skip
def test_secrets_are_looked_for_in_time_that_grows_with_the_text(text: str) -> None:
    """Each of these took time that grew with its square, which is hours."""
    hidden(text)
    form_of_secret(text[:100_000])
    embedded("omprog", Parameter.of("binary", text[:100_000], ScriptPosition("f", 1, 1)))
    secret_header("omhttp", Parameter.of("httpheaders", "x", ScriptPosition("f", 1, 1)), text)


@pytest.mark.parametrize(
    "text",
    [
        "Failed password for", "Accepted publickey for root", "authentication failure",
        "Basic authentication", '{"token":"%$!token%","password":"', "token", "token=%$!token%",
        "RSYSLOG_TraditionalForwardFormat", "cluster-2024-prod-node01-eastern02",
        "<%PRI%>%TIMESTAMP:::date-rfc3339% %HOSTNAME%", "https://es.example:9200/logs",
        "%$year%.%$month%", "a@b.example", "/var/lib/kubelet/pods", '"origin":{"name":"', "user:",
        "$!pwd", "key: value",
        "parseAndSendToElasticSearch", "Certificate invalid. (authority or date)", "x: password",
        "^[0-9a-f]{40}$",
    ],
)  # fmt: skip
def test_plain_texts_are_no_secrets(text: str) -> None:
    assert form_of_secret(text) is None


def test_what_holds_no_secret_is_imported_as_before(tmp_path: Path) -> None:
    text = (
        DOCUMENT
        + HTTP.format(path="services/collector/raw", more=' httpheaders=["X-A: b"]')
        + KAFKA.format(param="socket.keepalive.enable=true")
        + 'if $msg contains "Failed password" then /var/log/auth\n'
    )
    made = imported(text, tmp_path)
    assert (made.missing, made.kept) == ((), ())
    assert len(listed(made, "outputs")) == 3
