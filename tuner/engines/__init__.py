"""Elasticsearch and OpenSearch: releases, settings, indices, nodes."""
