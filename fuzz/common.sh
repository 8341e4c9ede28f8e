# Sourced by the scripts beside it, which run in this directory.

export CARGO_TERM_COLOR=never
# Lets a stable compiler build for sanitizers and libFuzzer.
export RUSTC_BOOTSTRAP=1

fail() { printf 'fuzz: %s\n' "$1" >&2; exit 1; }

# All targets but the canary, which must fail.
mapfile -t targets < <(for file in fuzz_targets/*.rs; do basename "$file" .rs; done | grep -vx canary)
[ "${#targets[@]}" -eq 16 ] || fail "${#targets[@]} targets, expected 16"

build_root=$(cargo metadata --no-deps --format-version 1 --locked | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
host=$(rustc -vV | sed -n 's/^host: //p')

# Builds every target with a sanitizer (`address` or `none`) and says in `programs` where they are.
build() {
  local sanitizer=$1 dir=$build_root
  [ "$sanitizer" = address ] || dir=$build_root/fuzz-$sanitizer
  ./install-cargo-fuzz
  PATH="$PWD/../target/tools/bin:$PATH" cargo fuzz build --sanitizer "$sanitizer" --target-dir "$dir"
  programs=$dir/$host/release
  if [ "$sanitizer" = address ]; then
    grep -q __asan_init "$programs/canary" || fail "the programs were built without the address sanitizer"
  fi
}

# The committed inputs of a target.
inputs() { find "corpus/$1" $([ -d "regressions/$1" ] && printf 'regressions/%s' "$1") -type f | sort; }

# One of libFuzzer's final statistics.
statistic() { sed -n "s/^stat::$2: *\([0-9]*\)$/\1/p" "$1"; }
