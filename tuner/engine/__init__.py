"""Elasticsearch and OpenSearch over HTTP."""
