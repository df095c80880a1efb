"""Runs llama.cpp's own server: llama_server.py MODEL.gguf PORT [ALIAS]. The settings are its defaults with 4,096 tokens of KV."""
import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.model_alias = {sys.argv[3] if len(sys.argv) > 3 else "tiny"}
parameters.port = int(sys.argv[2])
parameters.n_ctx = 4096
# The command line of llama-server turns its default of -1 into these two; the library does not.
parameters.n_parallel = 4
parameters.kv_unified = True
parameters.endpoint_metrics = True
# A prompt and the same tokens decoded one by one differ in rounding. With 16 bits that turns close choices of a token.
parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
parameters.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_F32
parameters.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
parameters.cpuparams.n_threads = 1
parameters.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(parameters)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
