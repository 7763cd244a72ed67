"""Tools that run from a checkout: the main job, the GPU check and what they share."""
