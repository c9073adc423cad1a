#!/usr/bin/env bash
# Runs the GPU tests and the GPU benchmark on a host that has neither Node nor a network, from what
# `npm run pack:gpu-host` made. Words after the name choose the steps: test, bench, transfers (the
# part of bench that moves GPU memory over TCP), sweep, tune (default: test bench). Exit: the first failed step's.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
pack=$root/build/gpu-host
logs=${OUT:-$pack/logs}
steps=${*:-test bench}

if [ ! -f "$pack/node.xz" ] || [ ! -f "$pack/app.tar.xz" ]; then
  echo "gpu-host: $pack lacks node.xz or app.tar.xz; make them with npm run pack:gpu-host" >&2
  exit 2
fi

app=$(mktemp -d)
trap 'rm -rf "$app"' EXIT
mkdir -p "$logs"

# Not every image has xz; Python's lzma reads the same format.
expand() {
  if command -v xz >/dev/null; then
    xz -dc "$1"
  else
    python3 -c 'import lzma, shutil, sys
shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer, 1 << 20)' "$1"
  fi
}

expand "$pack/node.xz" >"$app/node" && chmod +x "$app/node" || exit 2
expand "$pack/app.tar.xz" | tar -xf - -C "$app" || exit 2
export PATH=$app:$PATH

{
  date -u +%Y-%m-%dT%H:%M:%SZ
  uname -r
  nproc
  node --version
  nvidia-smi --query-gpu=name,driver_version,pci.bus_id,clocks.sm,clocks.mem --format=csv 2>&1
} | tee "$logs/host.txt"

status=0
note() {
  if [ "$status" -eq 0 ]; then status=$1; fi
}

for step in $steps; do
  echo "== $step"
  case $step in
    test)
      node "$app/dist/scripts/test-gpu.js" >"$logs/test-gpu.txt" 2>&1
      note $?
      tail -n 70 "$logs/test-gpu.txt"
      ;;
    bench)
      node "$app/dist/scripts/bench-gpu.js" --json >"$logs/bench-gpu.json" 2>"$logs/bench-gpu.txt"
      note $?
      cat "$logs/bench-gpu.txt"
      ;;
    transfers | sweep)
      flag=--sweep
      if [ "$step" = transfers ]; then flag='--only=transfers'; fi
      node "$app/dist/scripts/bench-gpu.js" --json "$flag" >"$logs/$step.json" 2>"$logs/$step.txt"
      note $?
      cat "$logs/$step.txt"
      ;;
    tune)
      node "$app/dist/scripts/bench-gpu.js" --tune >"$logs/tune-gpu.txt" 2>&1
      note $?
      cat "$logs/tune-gpu.txt"
      ;;
    *)
      echo "gpu-host: no step $step; there are test, bench, transfers, sweep, tune" >&2
      note 2
      ;;
  esac
done
echo "logs: $logs; exit $status"
exit "$status"
