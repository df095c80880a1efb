#!/usr/bin/env python3
"""Makes LoRA adapters of random weights for the small model: make_adapter.py FOLDER NAME:SEED:RANK... Needs numpy, safetensors.

FOLDER/NAME has the form that PEFT writes. The weights are large, so that the adapter's text is not that of its base.
"""
import json
import pathlib
import sys

import numpy
import safetensors.numpy

LAYERS, HIDDEN = 4, 256  # As in tests/real/make_model.py, and the rows of these parts.
ROWS = {"q_proj": 256, "v_proj": 128}


def make(folder, seed, rank):
    random = numpy.random.default_rng(seed)
    weights = {}
    for layer in range(LAYERS):
        for part, rows in ROWS.items():
            at = f"base_model.model.model.layers.{layer}.self_attn.{part}."
            weights[at + "lora_A.weight"] = random.standard_normal((rank, HIDDEN)).astype(numpy.float32)
            weights[at + "lora_B.weight"] = random.standard_normal((rows, rank)).astype(numpy.float32)
    folder.mkdir(parents=True)
    safetensors.numpy.save_file(weights, folder / "adapter_model.safetensors", {"format": "pt"})
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "tiny", "r": rank, "lora_alpha": rank,
              "lora_dropout": 0.0, "bias": "none", "target_modules": list(ROWS)}
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=1) + "\n")


for each in sys.argv[2:]:
    name, seed, rank = each.split(":")
    make(pathlib.Path(sys.argv[1]) / name, int(seed), int(rank))
