#!/usr/bin/env bash
# The layer rules: which folder may include which, who owns each third-party header, and who follows paths as text.
# Prints "ok includes" or one "not ok" line per broken include.
cd "$(dirname "$0")/../.." || exit 3
bad=0
broken() { echo "not ok $1" && bad=1; }
# allow FOLDER 'PREFIXES THAT ITS FILES MAY INCLUDE' (longest folder wins). FOLDER/* is the files of a folder, not those
# of the folders in it: agent/engine/* are the engine's public headers.
allow='
lib                     lib/
operator/commands       operator/commands/ operator/kinds/kinds.h operator/kinds/import/import_forms.h operator/kinds/job/ operator/control/ operator/show/ operator/kube/ operator/local/ operator/cluster.h operator/object.h operator/operator_metrics.h operator/manifest.h operator/manifest_write.h operator/reference.h operator/resource.h operator/resource_files.h operator/schema.h lib/
operator/commands/jobs operator/commands/jobs/ operator/commands/cli_command.h operator/commands/remote.h operator/commands/run/run.h operator/kinds/kinds.h operator/kinds/job/ operator/show/ operator/kube/ operator/local/runs/ operator/cluster.h operator/object.h operator/resource_files.h lib/
operator/commands/status operator/commands/status/ operator/commands/jobs/ operator/commands/cli_command.h operator/commands/remote.h operator/local/runs/ operator/kinds/kinds.h operator/kinds/job/ operator/show/ operator/kube/ operator/cluster.h operator/object.h lib/
operator/commands/ui operator/commands/ui/ operator/commands/jobs/ operator/commands/status/ operator/commands/cli_command.h operator/commands/local_logs.h operator/commands/page_server.h operator/commands/remote.h operator/commands/stop_signals.h operator/local/runs/ operator/kinds/kinds.h operator/kinds/job/ operator/kube/ operator/cluster.h operator/embedded.h operator/object.h lib/
operator/show           operator/show/ operator/object.h lib/
operator/local          operator/local/ operator/cluster.h operator/object.h operator/resource_key.h lib/
operator/local/runs     operator/local/runs/ operator/object.h lib/
operator/kube           operator/kube/ operator/cluster.h operator/operator_metrics.h operator/manifest.h lib/
operator/control        operator/control/ operator/cluster.h operator/object.h operator/resource_key.h operator/operator_metrics.h operator/manifest.h operator/schema.h lib/
operator/kinds/job      operator/kinds/job/ operator/control/ operator/cluster.h operator/object.h operator/operator_metrics.h operator/manifest.h operator/schema.h lib/
operator/kinds/import   operator/kinds/import/ operator/manifest.h operator/manifest_write.h lib/
operator/kinds          operator/kinds/ operator/control/ operator/show/ operator/embedded.h operator/cluster.h operator/object.h operator/operator_metrics.h operator/manifest.h operator/schema.h lib/
operator                operator/ lib/
agent/engine/graph      agent/engine/graph/ agent/engine/* lib/
agent/engine/ops        agent/engine/ops/ agent/engine/graph/ agent/engine/* lib/
agent/engine/ops/infer  agent/engine/ops/infer/ agent/engine/ops/op_id.h agent/engine/ops/types.h agent/engine/graph/ agent/engine/* lib/
agent/engine/ops/ml     agent/engine/ops/ml/ agent/engine/ops/infer/ agent/engine/ops/op_id.h agent/engine/graph/ agent/engine/* lib/
agent/engine/ops/rewrite agent/engine/ops/rewrite/ agent/engine/ops/infer/ agent/engine/ops/table.h agent/engine/ops/types.h agent/engine/graph/ agent/engine/* lib/
agent/engine/onnx       agent/engine/onnx/ agent/engine/ops/ agent/engine/graph/ agent/engine/* lib/
agent/engine/networks     agent/engine/networks/ agent/engine/ops/ agent/engine/graph/ agent/engine/* lib/
agent/engine/device     agent/engine/device/ agent/engine/graph/ agent/engine/ops/ agent/engine/* lib/
agent/engine/device/cpu/fast agent/engine/device/cpu/fast/ agent/engine/device/cpu/vector/ agent/engine/device/cpu/cpu.h agent/engine/device/cpu/isa.h agent/engine/device/cpu/threads.h agent/engine/device/kernel.h agent/engine/graph/ agent/engine/ops/ agent/engine/* lib/
agent/engine/device/cpu/vector agent/engine/device/cpu/vector/ agent/engine/device/cpu/isa.h lib/
agent/engine/device/cpu/onednn agent/engine/device/cpu/onednn/ agent/engine/device/cpu/cpu.h agent/engine/device/cpu/isa.h agent/engine/device/cpu/threads.h agent/engine/device/kernel.h agent/engine/graph/ agent/engine/ops/ agent/engine/* lib/
agent/engine/device/cpu/chain agent/engine/device/cpu/chain/ agent/engine/device/cpu/vector/vector.h agent/engine/device/cpu/vector/vector_lanes.inc agent/engine/device/cpu/fast/parallel.h agent/engine/device/cpu/cpu.h agent/engine/device/cpu/isa.h agent/engine/device/cpu/threads.h agent/engine/device/kernel.h agent/engine/graph/ agent/engine/ops/ agent/engine/* lib/
agent/engine/device/cpu/axis agent/engine/device/cpu/axis/ agent/engine/device/cpu/reference/walk.h agent/engine/device/cpu/chain/chain_loops.h agent/engine/device/cpu/vector/vector.h agent/engine/device/cpu/fast/parallel.h agent/engine/device/cpu/cpu.h agent/engine/device/kernel.h agent/engine/graph/ agent/engine/ops/ agent/engine/* lib/
agent/engine/device/cpu/rnn agent/engine/device/cpu/rnn/ agent/engine/device/cpu/chain/chain_loops.h agent/engine/device/cpu/vector/vector.h agent/engine/device/cpu/fast/conv.h agent/engine/device/cpu/fast/weights_cache.h agent/engine/device/cpu/fast/parallel.h agent/engine/device/cpu/cpu.h agent/engine/device/kernel.h agent/engine/graph/ agent/engine/ops/ agent/engine/* lib/
agent/engine/device/cpu/product agent/engine/device/cpu/product/ agent/engine/device/cpu/chain/chain.h agent/engine/device/cpu/vector/vector.h agent/engine/device/cpu/vector/vector_bfloat.h agent/engine/device/cpu/vector/vector_training.h agent/engine/device/cpu/fast/parallel.h agent/engine/device/cpu/cpu.h agent/engine/device/kernel.h agent/engine/graph/ agent/engine/ops/ agent/engine/* lib/
agent/engine/run        agent/engine/ lib/
agent/engine            agent/engine/ lib/
agent/store             agent/store/ lib/
agent/comm              agent/comm/ lib/
agent/data/parts        agent/data/parts/ agent/store/ lib/
agent/data/array        agent/data/array/ agent/store/ lib/
agent/data/image agent/data/image/ lib/
agent/data/decoder agent/data/decoder/ agent/data/image/ agent/data/video/ agent/data/input/media.h agent/data/parquet/parquet_unpack.h agent/data/source/gzip.h lib/
agent/data/source agent/data/source/ agent/store/ lib/
agent/data/text agent/data/text/ lib/
agent/data/parquet agent/data/parquet/ lib/
agent/data/sql agent/data/sql/ agent/data/parquet/write/ agent/data/input/input.h agent/store/ lib/
agent/data/rows agent/data/rows/ agent/data/parquet/write/ lib/
agent/data/input agent/data/input/ agent/data/rows/ agent/data/array/ agent/data/image/ agent/data/parts/ agent/store/ lib/
agent/data/table        agent/data/table/ agent/data/parquet/ agent/data/source/ agent/data/input/input.h lib/
agent/data/video        agent/data/video/ agent/data/image/ agent/data/input/media.h agent/data/input/fingerprint.h agent/store/ lib/
agent/data/kinds        agent/data/ agent/store/ lib/
agent/result            agent/result/ agent/data/source/ agent/store/ lib/
agent/launch/pod        agent/launch/pod/ lib/
agent/launch/tunnel     agent/launch/tunnel/ lib/
agent/launch/rank       agent/launch/rank/ agent/launch/tunnel/preload_frame.h agent/launch/tunnel/preload_file.h agent/launch/pod/ agent/store/ lib/
agent/launch/proof      agent/launch/proof/ agent/result/ agent/store/ lib/
agent/launch/gang       agent/launch/ agent/result/ agent/store/ lib/
agent/serve             agent/serve/ agent/launch/pod/ lib/
agent/score/ledger agent/score/ledger/ lib/
agent/score/wire        agent/score/wire/ agent/store/ agent/job.h lib/
agent/score/log         agent/score/log/ agent/data/ agent/store/ agent/job.h lib/
agent/score/report      agent/score/report/ agent/score/log/ agent/data/decoder/decoder.h agent/data/image/ agent/store/ lib/
agent/score/feed        agent/score/feed/ agent/data/ agent/store/ agent/engine/* lib/
agent/score/post        agent/score/post/ agent/data/ agent/store/ agent/engine/* lib/
agent/score/scorer      agent/score/scorer/ agent/score/log/ agent/data/ agent/store/ lib/
agent/score/worker      agent/score/worker/ agent/score/scorer/ agent/score/feed/ agent/score/post/post.h agent/score/wire/ agent/score/log/ agent/launch/pod/process.h agent/launch/pod/notice.h agent/launch/pod/output_tail.h agent/data/ agent/store/ agent/engine/* agent/job.h lib/
agent/score/endpoint    agent/score/endpoint/ agent/serve/ agent/launch/pod/port.h agent/score/wire/request_metrics.h agent/score/scorer/ agent/score/log/ agent/data/ agent/store/ agent/job.h lib/
agent/score/coordinator agent/score/coordinator/ agent/result/ agent/score/ledger/ agent/score/log/ agent/score/report/ agent/score/wire/ agent/score/scorer/scorer.h agent/score/endpoint/answer.h agent/score/endpoint/form.h agent/score/endpoint/request.h agent/launch/pod/output_tail.h agent/data/ agent/store/ agent/job.h lib/
agent/train             agent/train/ agent/data/ agent/store/ agent/engine/* agent/comm/ agent/launch/rank/metric_socket.h agent/result/result_file.h lib/
agent/train/optimizer   agent/train/optimizer/ agent/train/dataset/fields.h agent/engine/* lib/
agent/train/loss        agent/train/loss/ agent/train/dataset/fields.h agent/engine/* lib/
agent/train/record      agent/train/record/ agent/store/ lib/
agent/train/dataset     agent/train/dataset/ agent/data/ agent/store/ agent/engine/* lib/
agent/commands          agent/engine/* agent/commands/ agent/data/decoder/decoder.h agent/data/text/token_roles.h agent/data/text/tokenizer.h agent/result/ agent/launch/ agent/score/ agent/serve/ agent/store/ agent/job.h lib/
agent/trainer           agent/trainer/ agent/train/ agent/commands/ agent/score/ agent/data/ agent/store/ agent/comm/ agent/launch/ agent/engine/* agent/job.h lib/
agent                   agent/ lib/
'
# A row whose folder was moved would hold for nothing, and its folder have its parent's row.
page=docs/architecture.md
named=$(sed -n '/^## Layers/,/^- /p' $page | grep '^| `' | cut -d'|' -f2 | while read -r cell; do
    base=
    grep -oE '`[^`]*/`' <<<"$cell" | tr -d '`' | while read -r folder; do
        case $folder in agent/* | operator/*) base=$(dirname "$folder") ;; *) folder=$base/$folder ;; esac
        echo "${folder%/}"
    done
done)
while read -r folder _; do
    [ -d "$folder" ] || broken "includes.sh has a row for $folder, which is not there"
    near=$folder
    until grep -qxF "$near" <<<"$named" || [[ $near != */* ]]; do near=${near%/*}; done
    [[ $near == */* || $folder != */* ]] || grep -q "^$folder/" <<<"$named" || broken "$page: the table of includes lacks $folder/"
done < <(grep . <<<"$allow")
while read -r line; do broken "$line"; done < <(
    git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' | grep -E '^(lib|operator|agent)/' |
        xargs grep -oE '^#include "[^"]+"' /dev/null | sed 's/:#include "/ /; s/"$//' | awk '
        FILENAME != "-" { if (NF) { folder = $1; $1 = ""; rules[folder] = substr($0, 2) } next }
        $1 != file {
            file = best = $1
            do sub("/?[^/]*$", "", best); while (best != "" && !(best in rules))
            count = split(rules[best], prefixes, " ")
        }
        {
            for (i = 1; i <= count; i++) {
                prefix = prefixes[i]
                only = sub(/\*$/, "", prefix)
                if (index($2, prefix) == 1 && !(only && index(substr($2, length(prefix) + 1), "/"))) next
            }
            print file " includes " $2 ": " best " may include: " rules[best]
        }' <(echo "$allow") -
)
# A public header of the engine shows nothing that is private to it.
while read -r line; do
    echo "not ok ${line%%:*} includes ${line#*:}: a public header of the engine includes only agent/engine/*.h and lib/"
    bad=1
done < <(git ls-files -co --exclude-standard 'agent/engine/*.h' | grep -E '^agent/engine/[^/]*$' |
    xargs grep -oE '^#include "[^"]+"' | grep -vE '"(lib/[^"]*|agent/engine/[a-z_]+\.h)"')
# A plan is pure: the time and all that was read are its arguments, and its caller carries it out.
plans() { git ls-files -co --exclude-standard 'operator/kinds/*/plan*.[ch]'; }
impure='"(operator/(kube|local|show)/|operator/kinds/job/reconcile/|operator/(control/|operator_metrics)|lib/(net/|file|log\.))'
while read -r line; do
    echo "not ok $line: a plan reads and writes nothing itself"
    bad=1
done < <(
    plans | xargs grep -HnE "^#include $impure" | grep -v '"operator/control/claim\.h"'
    plans | xargs grep -HnE '(^|[^>._a-zA-Z0-9])(clock_(wall|monotonic)_[a-z]+|clock_gettime|gettimeofday|time|getenv|secure_getenv|getrandom|arc4random[a-z_]*|s?rand|random|f?open|f?read|system|popen|log_[a-z]+|printf|f(puts|printf|write))\('
)
# Third-party headers: header pattern -> the only files that may include it.
owner() {
    git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' | grep -E '^(lib|operator|agent)/' |
        xargs grep -lE "^#include <($1)" 2>/dev/null | grep -vE "^($2)$" |
        while read -r file; do echo "not ok $file includes <$1: only $2 may"; done
}
out=$(
    owner 'curl/' 'lib/net/http_curl\.h'
    owner 'ares' 'lib/net/resolver\.c'
    owner 'yaml\.h' 'operator/manifest\.c'
    owner 'libwebsockets' 'lib/net/((server|socket)\.c|server_state\.h)'
    owner 'openssl/' 'lib/(digest|signature|net/(http|tls|tls_identity|tls_limit|server|socket|keyed_stream))\.c|lib/net/server_state\.h'
    owner 'oneapi/' 'agent/engine/device/cpu/onednn/onednn_library\.h'
    owner 'libav|libsw' 'agent/data/video/video_libav\.h'
    owner 'turbojpeg' 'agent/data/image/image_jpeg\.c'
    owner 'png\.h' 'agent/data/image/image_png\.c'
    owner 'zlib\.h' 'agent/data/(source/gzip|parquet/parquet_unpack)\.c'
    owner 'zstd\.h' 'agent/data/parquet/[a-z_/]*\.c'
    owner 'brotli' 'agent/data/parquet/parquet_unpack\.c'
    owner 'utf8proc' 'agent/data/text/unicode\.c'
    owner 'mpi\.h' 'agent/comm/mpi\.c'
    owner 'nvjpeg' 'agent/data/image/nvjpeg_library\.h'
    owner 'cuda|cudnn|cublas' 'agent/engine/device/cuda/.*'
)
[ -z "$out" ] || { echo "$out"; bad=1; }
# Those who may write to a volume can exchange a folder of it for a link: a path that was found to be in the volume leads
# elsewhere when it is opened. So agents open, make and remove a volume's files relative to descriptors (path_open of
# agent/store/path.h, openat, unlinkat). Which files follow paths as text, and why that opens nothing of others:
follow='
agent/data/decoder/decoder_process.c: /dev/null
agent/data/kinds/files_input.c: whether the output is inside the input, compared only
agent/data/kinds/video.c: whether the film would replace its input, compared only; a folder of copies for az://
agent/data/text/tokenizer.c: for windlass-agent model tokenize, whose user names the file
agent/engine/device/cpu/host.c: /proc/meminfo
agent/engine/onnx/model.c: for windlass-agent model, whose user names the file
agent/engine/onnx/tensor_proto.c: for windlass-agent model, whose user names the file
agent/score/coordinator/prepared.c: whether the output is inside the input, compared only
agent/score/coordinator/trigger_watcher.c: whether the output is inside the input, compared only
agent/score/endpoint/own_server.c: a folder of the pod, not a volume
agent/score/scorer/code_files.c: links in a circle, compared only
agent/store/local_file.c: copies in a folder of our own; of volumes only for programs and messages
agent/store/moving_paths.c: where links lead, as a path of the volume that is opened anew
agent/store/path.c: the root of a volume, and kernels without openat2
agent/store/path_list.c: whether a link leads to what is listed, compared only
agent/store/cloud/cloud_question.c: mounted by Kubernetes, not a volume of the job
agent/store/cloud/cloud_secret.c: mounted by Kubernetes, not a volume of the job
agent/store/published/published_cache.c: the folder of the cache, of which nothing is trusted
agent/store/published/oci.c: the docker config, not a volume of the job
agent/store/s3/s3_shared.c: of the home of a user, not a volume of the job
'
# Functions that follow text, ours among them. Not "kind->open(", a method of a table.
calls='(^|[^>._a-zA-Z0-9])(open|open64|creat|fopen|opendir|scandir|s?n?ftw|glob|realpath|rename|unlink|remove|rmdir|mkdir|mkdtemp|truncate|chmod|chown|symlink|link|file_read|file_write|file_remove_tree|file_make_folders|path_resolve|path_file|avio_open)\('
while read -r sign file; do
    [ "$sign" = '<' ] && echo "not ok $file follows a path as text: open it with path_open, or give the reason in includes.sh"
    [ "$sign" = '>' ] && echo "not ok includes.sh: $file follows no path as text any more"
    bad=1
done < <(diff <(git ls-files -co --exclude-standard 'agent/store/*.c' 'agent/data/*.c' 'agent/score/*.c' 'agent/train/*.c' 'agent/result/*.c' 'agent/engine/*.c' |
    xargs grep -HnE "$calls" | grep -vE '^[^:]+:[0-9]+:(static |int |bool )|^[^:]+:[0-9]+: *(/?\*|//)' | cut -d: -f1 | sort -u) \
    <(sed -n 's/: .*//p' <<<"$follow" | sort) | grep '^[<>]')
# Users' pictures are decoded, and their .gz files unpacked, in a separate process (agent/data/decoder).
while read -r line; do
    echo "not ok $line: only agent/data/decoder/ calls image_decode and gzip_pass; others call decoder_pool_image and decoder_gunzip"
    bad=1
done < <(git ls-files -co --exclude-standard 'agent/*.c' | grep -vE '^agent/data/(decoder|image|source)/' |
    xargs grep -nE '\<(image_decode|gzip_pass)\(')
[ $bad -eq 0 ] && echo "ok includes"
exit $bad
