"""Parts of the GPU check (tools/gpu_check.py); the main job uses its reference and timing where there is a GPU."""
