# Written by packaging/generate.py.
_penstock() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words="" files=0
  case "${COMP_WORDS[1]}" in
    serve)
      case "$previous" in
      --config|--listen|--replica) files=1 ;;
      *) words="-h --help --config --listen --replica"; files=1 ;;
      esac ;;
    check)
      case "$previous" in
      --config) files=1 ;;
      *) words="-h --help --config --live"; files=1 ;;
      esac ;;
    reference)
      case "$previous" in
      *) words="configuration schema metrics errors -h --help"; files=0 ;;
      esac ;;
    demo)
      case "$previous" in
      --listen|--duration|--beside) files=1 ;;
      *) words="-h --help --listen --duration --beside"; files=1 ;;
      esac ;;
    engine)
      case "$previous" in
      --overflow) words="preempt error" ;;
      --config|--listen|--model|--gpu|--kv-tokens|--kv-memory|--max-seqs|--max-model-len|--max-batched-tokens|--time-scale|--seed) files=1 ;;
      *) words="-h --help --config --listen --model --gpu --kv-tokens --kv-memory --max-seqs --max-model-len --max-batched-tokens --overflow --time-scale --list-models --natural --seed"; files=1 ;;
      esac ;;
    load)
      case "$previous" in
      --url|--direct|--trace|--rate|--duration|--model|--map|--key|--header|--ttft|--tpot|--drain|--seed) files=1 ;;
      *) words="-h --help --url --direct --trace --rate --duration --model --map --key --header --ttft --tpot --drain --seed --json"; files=1 ;;
      esac ;;
    simulate)
      case "$previous" in
      --config|--trace|--policy|--shadow|--rate|--duration|--from|--seed|--log|--html|--prompt-bias|--gpu|--on-time|--seeds|--shift) files=1 ;;
      *) words="-h --help --config --trace --policy --shadow --rate --duration --from --seed --json --log --html --retry --prompt-bias --one-pool --carried --plan --gpu --on-time --seeds --shift"; files=1 ;;
      esac ;;
    top)
      case "$previous" in
      --ca|--interval|--lines) files=1 ;;
      *) words="-h --help --ca --interval --lines"; files=1 ;;
      esac ;;
    policies)
      case "$previous" in
      --json|--markdown) files=1 ;;
      *) words="-h --help --json --markdown"; files=1 ;;
      esac ;;
    version)
      case "$previous" in
      *) words="-h --help"; files=1 ;;
      esac ;;
    help)
      case "$previous" in
      *) words="serve check reference demo engine load simulate top policies version help -h --help"; files=0 ;;
      esac ;;
  esac
  [ "$COMP_CWORD" -ne 1 ] || { words="serve check reference demo engine load simulate top policies version help -h --help -v --version"; files=0; }
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ "$files" -eq 0 ] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _penstock penstock
