#!/usr/bin/env bash
# Runs the GPU tests and the GPU benchmark on a host that has neither Node nor a network, from what
# `npm run pack:gpu-host` made. Words after the name choose the steps: test, bench, transfers (the
# part of bench that moves GPU memory over TCP), tcpx (GPU memory through the plugin emulator: its
# tests and a benchmark; needs cc), service (what programs see that poll for posts of ordinary memory
# through node services; needs cc), diag (NCCL over the emulator within a bundle of tcpx diag run;
# needs cc and libnccl), sweep, tune, perf (host memory: the table of `npm run perf`). PERF_WORDS
# chooses rounds and groups of perf, TRANSFERS_WORDS=--rounds=1 rounds of transfers, SERVICE_WORDS
# what bench:service measures. Default: test bench. Exit: the first failed step's.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
pack=${GPU_HOST_PACK:-$root/build/gpu-host}
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

emulator=$app/build/native/libnccl-net-tcpx-emulator.so
emulated_nics='eth1,addr=127.0.0.11;eth2,addr=127.0.0.12;eth3,addr=127.0.0.13;eth4,addr=127.0.0.14'

# One benchmark over the emulator; the first word is the exit status that it should have.
tcpx_bench() {
  local expected=$1
  shift
  echo "-- tcpx bench loopback --provider tcpx $*"
  TCPX_EMU_NICS=$emulated_nics TCPX_EMU_SETUP_STEP_MICROS=1000 \
    timeout 60 node "$app/bin/tcpx.js" bench loopback --provider tcpx --plugin "$emulator" "$@"
  local seen=$?
  echo "-- exit $seen, expected $expected"
  [ "$seen" -eq "$expected" ]
}

# The C program over the same emulator, sending and receiving GPU memory.
c_driver() {
  echo "-- nccl-net-driver $*"
  TCPX_EMU_NICS=$emulated_nics TCPX_EMU_SETUP_STEP_MICROS=1000 TCPX_EMU_SAME_HOST=1 \
    TCPX_EMU_MEMORY=cuda NCCL_DYNAMIC_CHUNK_SIZE=524288 \
    NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=1000 \
    timeout 60 "$app/build/native/nccl-net-driver" --plugin "$emulator" --memory cuda \
    --bytes 67108864 --message 524288 --iters 10 --warmup 5 "$@"
}

tcpx_benches() {
  local failed=0
  local vram='--memory vram --size 64MiB --iters 10'
  # shellcheck disable=SC2086
  for flags in '--nics eth1' '--nics eth1 --op read' '--nics eth1,eth2,eth3,eth4' \
    '--nics eth1,eth2,eth3,eth4 --op read' '--nics eth1 --unpack d2d' '--nics eth1 --unpack host' \
    '--nics eth1 --host-recv' '--nics eth1 --send-from region' '--nics eth1 --block 16KiB'; do
    tcpx_bench 0 $vram $flags || failed=1
  done
  tcpx_bench 0 --memory vram --nics eth1 --op pingpong --size 4KiB --iters 500 || failed=1
  # Nothing unpacks: every iteration is wrong, and the answer is no.
  # shellcheck disable=SC2086
  tcpx_bench 1 $vram --nics eth1 --unpack none || failed=1
  tcpx_bench 0 --memory dram --size 64MiB --iters 10 --nics eth1 || failed=1
  c_driver --nics 1 || failed=1
  c_driver --nics 4 || failed=1
  return "$failed"
}

# Where PyTorch keeps its NCCL; nothing where the loader finds one by itself.
nccl_folder() {
  python3 -c 'import nvidia.nccl, os
print(os.path.join(list(nvidia.nccl.__path__)[0], "lib"))' 2>/dev/null
}

# Two NCCL ranks on one GPU over both emulated NICs, collected around; both NICs must have counted.
nccl_diag() {
  local state bundle status=0
  state=$(mktemp -d)
  NCCL_NET_PLUGIN=$emulator NCCL_NET=GPUDirectTCPX_v7 NCCL_SOCKET_IFNAME=lo \
    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=ENV,INIT,NET NCCL_DYNAMIC_CHUNK_SIZE=524288 \
    NCCL_P2P_NET_CHUNKSIZE=524288 NCCL_BUFFSIZE=4194304 NCCL_PROTO=Simple NCCL_ALGO=Ring \
    NCCL_MIN_NCHANNELS=2 NCCL_MAX_NCHANNELS=2 NCCL_NET_GDR_LEVEL=SYS \
    NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1,eth2 \
    NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=100000 \
    TCPX_EMU_NICS='eth1,addr=127.0.0.11;eth2,addr=127.0.0.12' TCPX_EMU_SAME_HOST=1 \
    TCPX_EMU_BOUNCE_BYTES=536870912 TCPX_EMU_MEMORY=cuda TCPX_EMU_STATE_DIR=$state \
    LD_LIBRARY_PATH=$(nccl_folder)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
    node "$app/bin/tcpx.js" diag run --out "$logs/diagnostics" --label nccl --nics eth1,eth2 \
    --deadline 240 -- "$app/build/native/nccl-check" || status=1
  rm -rf "$state"
  bundle=$(node "$app/bin/tcpx.js" diag latest --out "$logs/diagnostics") || return 1
  cat "$bundle/SUMMARY.txt"
  node "$app/bin/tcpx.js" diag analyze "$bundle"
  for nic in eth1 eth2; do
    if ! grep -Eq "^$nic .*pass$" "$bundle/SUMMARY.txt"; then
      echo "gpu-host: $nic counted no device-memory packet" >&2
      status=1
    fi
  done
  return "$status"
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
      words=--sweep
      if [ "$step" = transfers ]; then words="--only=transfers ${TRANSFERS_WORDS:-}"; fi
      # shellcheck disable=SC2086
      node "$app/dist/scripts/bench-gpu.js" $words 2>&1 | tee "$logs/$step.txt"
      note "${PIPESTATUS[0]}"
      ;;
    tcpx)
      {
        node "$app/dist/scripts/build-native.js" &&
          timeout 340 node --test --test-concurrency=1 --test-reporter=spec \
            "$app/dist/src/ffi/cuda/gpu-memory.test.js" "$app/dist/test/native/tcpx-vram.test.js" \
            "$app/dist/test/contract/provider-vram.test.js" "$app/dist/test/contract/nixl-vram.test.js"
      } >"$logs/tcpx-vram.txt" 2>&1
      note $?
      tail -n 80 "$logs/tcpx-vram.txt"
      tcpx_benches >"$logs/tcpx-bench.txt" 2>&1
      note $?
      cat "$logs/tcpx-bench.txt"
      ;;
    service)
      # shellcheck disable=SC2086
      { node "$app/dist/scripts/build-native.js" &&
        node "$app/dist/scripts/bench-service.js" ${SERVICE_WORDS:---rounds 3 --only polled}; } \
        >"$logs/service.txt" 2>&1
      note $?
      cat "$logs/service.txt"
      ;;
    diag)
      { node "$app/dist/scripts/build-native.js" && nccl_diag; } >"$logs/diag.txt" 2>&1
      note $?
      cat "$logs/diag.txt"
      ;;
    tune)
      node "$app/dist/scripts/bench-gpu.js" --tune >"$logs/tune-gpu.txt" 2>&1
      note $?
      cat "$logs/tune-gpu.txt"
      ;;
    perf)
      # shellcheck disable=SC2086
      node "$app/dist/scripts/perf.js" ${PERF_WORDS:-default-small default-large} 2>&1 | tee "$logs/perf.txt"
      note "${PIPESTATUS[0]}"
      ;;
    *)
      echo "gpu-host: no step $step; there are test, bench, transfers, tcpx, service, diag, sweep, tune, perf" >&2
      note 2
      ;;
  esac
done
echo "logs: $logs; exit $status"
exit "$status"
