#!/usr/bin/env python3
"""Makes a small language model of random weights: make_model.py FOLDER. Needs numpy, tokenizers, safetensors and gguf.

The model has the Llama architecture, a tokenizer of its own and a chat template with tools. FOLDER/hf is for vLLM and
FOLDER/model.gguf for llama-server; both have equal weights and tokens. Equal versions of the packages give equal files.

One hidden dimension is constant, so the output layer has a bias per token. It favours whole words. A text of whole words
has the same tokens when an engine reads it again. A resumed text can so be compared with an undisturbed one.
"""
import json
import pathlib
import sys

import gguf
import numpy
import safetensors.numpy
import tokenizers

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, CONTEXT = 4, 256, 512, 8, 4, 4096
HEAD = HIDDEN // HEADS
EPSILON, ROPE_THETA = 1e-5, 10000.0
VOCABULARY = 2048
BIAS = 12.0  # The advantage of a whole word over other tokens, in logits.
START, END, ROLE, PAD = "<|begin|>", "<|im_end|>", "<|im_start|>", "<|pad|>"
WORDS = """the and you was for are with his they this have from one had but not what all were when your can said use each
she how will out many then them so some her like him into time has look two more see way could day did get come made may
part over new take only work know year live me back give most very our just name good man think say help low line turn
much mean old any same tell boy came want show also form end does well play put read port river stone light water green
house under never leave while those both always until children side feet car mile night walk white sea began grow took
four carry state once book hear stop without second late miss idea enough eat face watch far really almost let above girl
sometimes mountain cut young talk soon list song being family""".split()

TEMPLATE = """{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- 'You may call functions. <tools>' }}
{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{{- '\\n</tools>\\nReturn <tool_call>\\n{"name": <name>, "arguments": <arguments>}\\n</tool_call><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if not (tools and loop.first and message.role == 'system') %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


def make_tokenizer():
    """A byte-level BPE of common words; each word with its space is one token."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[PAD, START, END, ROLE], show_progress=False,
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    licence = pathlib.Path(__file__).resolve().parents[2] / "LICENSE"
    random = numpy.random.default_rng(1)
    sentences = (" " + " ".join(random.choice(WORDS, 12)) for _ in range(4000))
    tokenizer.train_from_iterator([*sentences, licence.read_text()], trainer)
    return tokenizer


def make_weights(tokenizer):
    """(name, array) of every tensor under Hugging Face's names; the constant dimension is the first one."""
    random = numpy.random.default_rng(2)
    size = tokenizer.get_vocab_size()

    def normal(rows, columns, scale):
        return (random.standard_normal((rows, columns)) * scale / numpy.sqrt(columns)).astype(numpy.float32)

    def constant(matrix):
        matrix[0] = 0  # Nothing is added to the constant dimension.
        return matrix

    ones = numpy.ones(HIDDEN, numpy.float32)
    embedding = random.standard_normal((size, HIDDEN)).astype(numpy.float32)
    embedding[:, 0] = 4
    yield "model.embed_tokens.weight", embedding
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        yield at + "input_layernorm.weight", ones
        yield at + "self_attn.q_proj.weight", normal(HIDDEN, HIDDEN, 2)
        yield at + "self_attn.k_proj.weight", normal(HEAD * KV_HEADS, HIDDEN, 2)
        yield at + "self_attn.v_proj.weight", normal(HEAD * KV_HEADS, HIDDEN, 2)
        yield at + "self_attn.o_proj.weight", constant(normal(HIDDEN, HIDDEN, 2))
        yield at + "post_attention_layernorm.weight", ones
        yield at + "mlp.gate_proj.weight", normal(INNER, HIDDEN, 2)
        yield at + "mlp.up_proj.weight", normal(INNER, HIDDEN, 2)
        yield at + "mlp.down_proj.weight", constant(normal(HIDDEN, INNER, 2))
    # The norm of the last layer passes the constant dimension with a weight that makes it about one.
    final = ones.copy()
    yield "model.norm.weight", final
    head = normal(size, HIDDEN, 3)
    words = [tokenizer.token_to_id("\u0120" + word) for word in WORDS]
    assert None not in words, "each word must be one token"
    head[:, 0] = -BIAS
    head[words, 0] = BIAS
    head[tokenizer.token_to_id(END), 0] = 0
    yield "lm_head.weight", head


def write_hugging_face(folder, tokenizer, weights):
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {token: tokenizer.token_to_id(token) for token in (PAD, START, END, ROLE)}
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD,
        "max_position_embeddings": CONTEXT, "vocab_size": tokenizer.get_vocab_size(), "rms_norm_eps": EPSILON,
        "rope_theta": ROPE_THETA, "hidden_act": "silu", "tie_word_embeddings": False, "attention_bias": False,
        "mlp_bias": False, "bos_token_id": special[START], "eos_token_id": special[END], "pad_token_id": special[PAD],
        "torch_dtype": "float32"}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": START, "eos_token": END, "pad_token": PAD,
        "additional_special_tokens": [ROLE], "add_bos_token": False, "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT, "chat_template": TEMPLATE}
    generation = {"bos_token_id": special[START], "eos_token_id": special[END], "pad_token_id": special[PAD]}
    for name, value in (("config", config), ("tokenizer_config", settings), ("generation_config", generation)):
        (folder / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n")
    safetensors.numpy.save_file(dict(weights), folder / "model.safetensors", {"format": "pt"})


def interleaved(matrix, heads):
    """llama.cpp wants the halves of a rotary head as pairs."""
    rows, columns = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(path, tokenizer, weights):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_freq_base(ROPE_THETA)
    writer.add_rope_dimension_count(HEAD)
    writer.add_vocab_size(tokenizer.get_vocab_size())
    vocabulary = json.loads(tokenizer.to_str())["model"]
    tokens = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    special = {PAD, START, END, ROLE}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens])
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in vocabulary["merges"]])
    writer.add_bos_token_id(tokens.index(START))
    writer.add_eos_token_id(tokens.index(END))
    writer.add_pad_token_id(tokens.index(PAD))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    for name, array in weights:
        if "q_proj" in name:
            array = interleaved(array, HEADS)
        if "k_proj" in name:
            array = interleaved(array, KV_HEADS)
        writer.add_tensor(names.get_name(name, (".weight",)), numpy.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    folder = pathlib.Path(sys.argv[1])
    tokenizer = make_tokenizer()
    weights = list(make_weights(tokenizer))
    write_hugging_face(folder / "hf", tokenizer, weights)
    write_gguf(folder / "model.gguf", tokenizer, weights)


if __name__ == "__main__":
    main()
