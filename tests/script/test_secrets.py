"""Secrets of a configuration, wherever they stand in it, are hidden where it is shown."""

from __future__ import annotations

import pytest

from tuner.script.secrets import has_secret, hidden

CANARY = "Zk9dQ2mX7vT4bR8nLw3c"
UUID = "9f8b1c2d-3e4f-4a5b-8c6d-7e8f9a0b1c2d"
HTTP = 'action(type="omhttp" server="h" restpath="{path}" template="d"{more})\n'
HEADERS = HTTP.format(path="d", more=" httpheaders=[{}]")
KEPT = HTTP.format(path="d", more=' dynrestpath="on" {}')
KAFKA = 'action(type="omkafka" topic="t" broker="k:9092" template="d" confParam=["{param}"])\n'
PROGRAM = 'action(type="omprog" binary="{binary}" template="d")\n'

# What holds it.
CANARIES = {
    "Bearer": HEADERS.format(f'"Authorization: Bearer {CANARY}"'),
    "Basic": HEADERS.format(f'"Authorization: Basic {CANARY}="'),
    "X-API-KEY": HEADERS.format(f'"X-API-KEY: {CANARY}"'),
    "a header of another name": HEADERS.format(f'"X-Me: {CANARY}"'),
    "a kept header": KEPT.format(f'httpheaders=["X-A: b", "DD-API-KEY: {CANARY}"]'),
    "Splunk": KEPT.format(f'httpheaders=["Authorization: Splunk {CANARY}"]'),
    "the value of a header": KEPT.format(f'httpheaderkey="X-Me" httpheadervalue="{CANARY}"'),
    "a path": HTTP.format(path=f"api/v2/{CANARY}/logs", more=""),
    "an option of a path": HTTP.format(path=f"logs?token={CANARY[:8]}", more=""),
    "sasl.jaas.config": KAFKA.format(
        param=f"sasl.jaas.config=x.Login required username=u password={CANARY};"
    ),
    "ssl.key.pem": KAFKA.format(param=f"ssl.key.pem=-----BEGIN PRIVATE KEY-----{CANARY}"),
    "sasl.password": KAFKA.format(param=f"sasl.password={CANARY[:6]}"),
    "--password": PROGRAM.format(binary=f"/bin/x --password {CANARY}"),
    "-u": PROGRAM.format(binary=f"/bin/curl -u me:{CANARY} h"),
    "env": PROGRAM.format(binary=f"/usr/bin/env API_KEY={CANARY} /bin/x"),
    "cry.key": (
        f'action(type="omfile" file="/a" template="d" cry.provider="gcry" cry.key="{CANARY}")\n'
    ),
    "queue.cry.key": (
        'action(type="omlibdbi" queue.type="Disk" queue.cry.provider="gcry" '
        f'queue.cry.key="{CANARY}")\n'
    ),
    "azure_key": (
        f'action(type="omazureeventhubs" azurehost="h" azure_key_name="n" azure_key="{CANARY}")\n'
    ),
    "environment": f'global(environment=["API_KEY={CANARY}"])\n',
    "a token of a template": (
        f'template(name="l" type="string" string="<%pri%>1 [{UUID}@41058] %msg%\\n")\n'
        'action(type="omfwd" target="h" template="l")\n'
    ),
    "a token of a list template": (
        f'template(name="l" type="list") {{ constant(value="token={CANARY} ") property(name="msg") '
        'constant(value="\\n") }\naction(type="omfile" file="/a" template="l")\n'
    ),
    "a variable": f'set $!key = "{CANARY}";\n',
    "a condition": f'if $!key == "{CANARY}" then /var/log/a\n',
    "a kept condition": f'if $!key == "{CANARY}" then action(type="omlibdbi")\n',
    "a web token": f'set $!t = "eyJhbGciOiJI.eyJzdWIiOiIx.{CANARY}";\n',
    "a login in an address": f'action(type="ommongodb" uristr="mongodb://u:{CANARY}@h/db")\n',
    "a login with an escape": f'action(type="ommongodb" uristr="mongodb://u%40x:{CANARY}@h/db")\n',
    "an old line": f"*.* >db,logs,u,{CANARY}\n",
    "an input": (
        'module(load="imkafka")\n'
        f'input(type="imkafka" topic="t" confParam=["sasl.password={CANARY}"])\n'
    ),
    "a path of a server": f'action(type="omelasticsearch" server="http://h/{CANARY}/es")\n',
    "a word that does not fit": f'ruleset(name="r") |/bin/x {CANARY}\n',
    "a password without quotes": f'action(type="omelasticsearch" pwd={CANARY})\n',
    "a header without quotes": f'action(type="omhttp" httpheaders=["a" {CANARY}])\n',
}


# What stands there without quotes is not told from other text.
UNQUOTED = {
    "a word that does not fit",
    "a header without quotes",
}


@pytest.mark.parametrize("what", sorted(CANARIES.keys() - UNQUOTED))
def test_no_secret_is_shown_where_files_differ(what: str) -> None:
    shown = hidden(CANARIES[what])
    for secret in (CANARY, UUID, CANARY[:6]):
        assert secret not in shown


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
        ('symmetrickey="winter"', 'symmetrickey="***"'),
        ('set $!sharedkey = "winter";', 'set $!sharedkey = "***";'),
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
    has_secret(text[:100_000])


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
    assert not has_secret(text)
