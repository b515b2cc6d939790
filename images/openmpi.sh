#!/bin/sh
# openmpi.sh: prints the files of this machine's Open MPI (Debian's, 4.1) that collect.sh must copy so that `mpirun` runs
# in an image: its programs, settings, messages, and the plugins that it loads by name. Plugins for fabrics (UCX, libfabric,
# PSM, verbs) are left out with their libraries: windlass-trainer asks for TCP and shared memory, and every rank would
# complain about a plugin without its library.
set -eu
plugins=$(dirname "$(find /usr/lib -name mca_pml_ob1.so | head -1)")
[ "$plugins" != . ] || { echo "openmpi.sh: no Open MPI here (apt-get install openmpi-bin)" >&2; exit 1; }
for plugin in "$plugins"/mca_*.so; do
    ldd "$plugin" | grep -qE 'lib(uc[pst]|fabric|psm|ibverbs|rdmacm)' || echo "$plugin"
done
for file in /usr/bin/orterun /usr/bin/orted /usr/bin/mpirun.openmpi /etc/openmpi /usr/share/openmpi; do echo "$file"; done
find /usr/lib -path '*/pmix/pmix_mca_*.so'
