# SPDX-License-Identifier: Apache-2.0
"""Starts private httpd servers and talks to them; used by the tests and by the measurements.

Standard library only, and nothing of pytest: fixtures are in tests/conftest.py.
"""
