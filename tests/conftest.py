"""What all tests share: nothing leaves the machine, and hypothesis runs the same examples every time."""

import os

import hypothesis

os.environ["LANGSMITH_TRACING"] = "false"
os.environ["LANGCHAIN_TRACING_V2"] = "false"

hypothesis.settings.register_profile("offline", derandomize=True, deadline=None, database=None, max_examples=100)
hypothesis.settings.load_profile("offline")
