"""What the model-free extractor knows: salience, facts, summaries and merges by rules, in any language, always the same."""
