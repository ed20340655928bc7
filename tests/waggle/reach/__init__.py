"""Tests of `waggle.reach`."""
