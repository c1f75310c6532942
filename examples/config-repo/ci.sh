#!/bin/sh
# What the CI job runs, and what you can run before you push: nothing here reaches a host.
set -eu
for profile in profiles/*.yaml; do
    name=$(basename "$profile" .yaml)
    rsyslog-tune validate --fragment "$profile"
    rsyslog-tune test "cases/$name.yaml"
    rsyslog-tune render --fragment --format ansible --diff "$profile" -o "roles/rsyslog_$name"
done
ansible-playbook --syntax-check -i inventory.yml site.yml
