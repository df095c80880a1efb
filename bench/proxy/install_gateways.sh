#!/bin/sh
# Installs the gateways that bench/proxy.sh can compare with, each apart, about 1 GB. PyPI has smg, sglang-router,
# vllm-router and LiteLLM's proxy; npm has Portkey's (needs node). Usage: bench/proxy/install_gateways.sh [NAME...]
set -eu
cd "$(dirname "$0")/../.."
folder=build/tools/rivals/gateways
[ $# -gt 0 ] || set -- smg sglang-router vllm-router litellm portkey
mkdir -p "$folder"
for name in "$@"; do
  case "$name" in
    portkey) npm install --prefix "$folder/portkey" --no-audit --no-fund --silent @portkey-ai/gateway@1.15.2 ;;
    *)
      case "$name" in
        smg) package=smg==1.13.0 ;;
        sglang-router) package=sglang-router==0.3.2 ;;
        vllm-router) package=vllm-router==0.1.17 ;;
        litellm) package='litellm[proxy]==1.106.2' ;;
        *) echo "usage: bench/proxy/install_gateways.sh [smg|sglang-router|vllm-router|litellm|portkey]..." >&2; exit 2 ;;
      esac
      python3 -m venv "$folder/$name"
      "$folder/$name/bin/pip" install --quiet --disable-pip-version-check "$package"
      ;;
  esac
done
