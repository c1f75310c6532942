"""Do the collectors run what the profile says?  pytest --hosts=ssh://HOST,ssh://HOST tests"""

from tuner.testing import differences


def test_collector(host):
    assert differences(host, "profiles/prod.yaml", fragment=True) == []
