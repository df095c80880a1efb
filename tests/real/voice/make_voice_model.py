#!/usr/bin/env python3
"""Makes a small speech model without weights: make_voice_model.py TEXT_MODEL FOLDER. vLLM draws the weights itself.

The architecture is that of Qwen3-ASR, the smallest one with which vLLM serves /v1/realtime. The words are those of the small
text model, with the marks of sounds. `--load-format dummy` lets vLLM start without a file of weights.
"""
import json
import pathlib
import shutil
import sys

MARKS = ["<|audio_start|>", "<|audio_pad|>", "<|audio_end|>", "<asr_text>"]
HIDDEN, HEAD, HEADS, MELS = 64, 32, 2, 128


def add_marks(folder):
    """Appends the marks to the vocabulary; returns the id of each, and the size."""
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    first = len(tokenizer["model"]["vocab"])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer["added_tokens"] += [{"id": first + i, "content": mark, **flags} for i, mark in enumerate(MARKS)]
    path.write_text(json.dumps(tokenizer))
    return {mark: first + i for i, mark in enumerate(MARKS)}, first + len(MARKS)


def write(folder, name, value):
    (folder / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n")


def main():
    text, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "generation_config.json"):
        shutil.copy(text / name, folder / name)
    ids, vocabulary = add_marks(folder)
    special = json.loads((text / "generation_config.json").read_text())
    settings = json.loads((text / "tokenizer_config.json").read_text())
    settings |= {"audio_token": MARKS[1], "audio_bos_token": MARKS[0], "audio_eos_token": MARKS[2],
                 "extra_special_tokens": {"audio_token": MARKS[1], "audio_bos_token": MARKS[0], "audio_eos_token": MARKS[2]}}
    write(folder, "tokenizer_config", settings)
    words = {
        "vocab_size": vocabulary, "hidden_size": HIDDEN, "intermediate_size": 2 * HIDDEN, "num_hidden_layers": 2,
        "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": HEAD, "max_position_embeddings": 4096,
        "rope_theta": 10000.0, "rope_scaling": {"rope_type": "default", "mrope_section": [4, 6, 6]}, **special}
    sounds = {
        "num_mel_bins": MELS, "encoder_layers": 2, "encoder_attention_heads": HEADS, "encoder_ffn_dim": 2 * HIDDEN,
        "d_model": HIDDEN, "output_dim": HIDDEN, "n_window": 50, "n_window_infer": 400, "downsample_hidden_size": 16}
    write(folder, "config", {
        "architectures": ["Qwen3ASRRealtimeGeneration"], "model_type": "qwen3_asr", "torch_dtype": "float32",
        "thinker_config": {"audio_config": sounds, "text_config": words, "audio_token_id": ids[MARKS[1]],
                           "audio_start_token_id": ids[MARKS[0]], "dtype": "float32"}, **special})
    write(folder, "preprocessor_config", {
        "feature_extractor_type": "Qwen3ASRFeatureExtractor", "processor_class": "Qwen3ASRProcessor", "feature_size": MELS,
        "sampling_rate": 16000, "hop_length": 160, "chunk_length": 30, "n_fft": 400, "n_window": 50})


if __name__ == "__main__":
    main()
