# Windlass: `make` builds build/windlass, windlass-agent, windlass-shim and windlass-trainer. `make help` lists the rest.
#
# CUDA=auto|0|1       build agent/engine/device/cuda with nvcc (auto: where a CUDA toolkit is found)
# SANITIZE=address,undefined | thread   an instrumented build in a separate folder
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# Use all processors, unless the caller gives -j or is a make that shares its job slots.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

##### what to build with #########################################################################
CC := gcc
CUDA ?= auto
# The toolkit's root is the folder with nvcc, the headers (with cuDNN's; CUDA's libraries and cuDNN are
# opened at run time) and the runtime: an nvcc on the PATH may be a wrapper or a link that lives
# elsewhere, so it only gives one more place to look.
CUDA_ROOTS := $(CUDA_HOME) /usr/local/cuda \
	$(patsubst %/bin/nvcc,%,$(realpath $(shell command -v nvcc 2>/dev/null)))
CUDA_ROOT := $(firstword $(foreach root,$(CUDA_ROOTS),$(if \
	$(and $(wildcard $(root)/bin/nvcc),$(wildcard $(root)/include/cuda_runtime_api.h),$(wildcard \
	$(root)/include/cudnn.h),$(wildcard $(root)/include/cublasLt.h),$(wildcard \
	$(root)/lib64/libcudart_static.a)),$(root))))
NVCC := $(CUDA_ROOT)/bin/nvcc
# Where ccache is in use (tests/tests.mk), it keeps what nvcc makes, too. A toolkit may be copied: its contents count.
CACHED_NVCC := $(if $(CCACHE_DIR),$(if $(shell command -v ccache 2>/dev/null),CCACHE_COMPILERCHECK=content ccache)) $(NVCC)
WITH_CUDA := $(if $(filter 1,$(CUDA)),1,$(if $(filter auto,$(CUDA)),$(if $(CUDA_ROOT),1)))
$(if $(WITH_CUDA),$(if $(CUDA_ROOT),,$(error CUDA=1, but no CUDA toolkit with bin/nvcc, \
	include/cuda_runtime_api.h, cudnn.h and cublasLt.h, and lib64/libcudart_static.a in: $(CUDA_ROOTS) (set CUDA_HOME))))
SANITIZE ?=
comma := ,
BUILD := build$(if $(SANITIZE),/sanitize-$(subst $(comma),-,$(SANITIZE)))
OBJ := $(BUILD)/obj

PACKAGES_LIB := jansson libcrypto libssl libwebsockets libcares
PACKAGES_OPERATOR := yaml-0.1
PACKAGES_AGENT := libturbojpeg libpng zlib libzstd libbrotlidec libutf8proc
PACKAGES_MPI := ompi-c
# $(call once,NAME,COMMAND): what the command prints. It runs when it is first wanted (make deps installs pkg-config), and
# once, not for each of hundreds of programs.
once = $(eval $(1) := $(shell $(2)))$($(1))
# (FFmpeg, oneDNN and libcurl are opened at run time: docs/decisions/libraries-at-first-use.md.)
LIBS_LIB = $(call once,LIBS_LIB,pkg-config --libs $(PACKAGES_LIB))
LIBS_YAML = $(call once,LIBS_YAML,pkg-config --libs $(PACKAGES_OPERATOR))
LIBS_OPERATOR = $(LIBS_YAML) -lm
LIBS_CUDA = $(if $(WITH_CUDA),-L$(CUDA_ROOT)/lib64 -lcudart_static -lrt -ldl)
LIBS_FORMATS = $(call once,LIBS_FORMATS,pkg-config --libs $(PACKAGES_AGENT))
LIBS_AGENT_ALONE = $(LIBS_FORMATS)
LIBS_AGENT = $(LIBS_AGENT_ALONE) $(LIBS_CUDA)
LIBS_MPI = $(call once,LIBS_MPI,pkg-config --libs $(PACKAGES_MPI))
# windlass-shim is fully static: it links archives and their dependencies.
SHIM_LIBRARIES := curl nghttp2 idn2 unistring zstd brotlidec brotlicommon z websockets cap cares jansson ssl crypto

# (Some guess by what the optimizer knows, which is less in an instrumented build: there they stay warnings.)
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wwrite-strings -Wvla -Wformat=2 -Wundef $(if $(SANITIZE),,-Werror)
# tests/e2e/security/test_hardening.sh reads from the programs whether these took effect. Indirect calls and returns are checked
# by processors that can (CET; BTI and PAC on arm64); a stack grows page by page, onto its guard; locals begin as zeros.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
HARDEN_BRANCHES := $(if $(filter x86_64,$(MACHINE)),-fcf-protection=full)$(if $(filter aarch64,$(MACHINE)),-mbranch-protection=standard)
HARDEN := $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -ftrivial-auto-var-init=zero) -fstack-protector-strong \
	-fstack-clash-protection $(HARDEN_BRANCHES) -fPIE -fvisibility=hidden
HARDEN_LINK := -Wl,-z,relro,-z,now,-z,noexecstack
# Under sanitizers, what stack traces show: functions and lines.
CFLAGS ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
# -ffp-contract stays on (fused multiply-add); no -march: kernels dispatch at run time.
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -I. $(WARNINGS) $(CFLAGS) $(HARDEN) -pthread -fopenmp-simd \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
	$(if $(WITH_CUDA),-DWITH_CUDA=1) $(DEFINES)
ALL_LDFLAGS = -pie $(HARDEN_LINK) -Wl,--as-needed -pthread $(LDFLAGS) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE))
# Inner loops write their locals themselves: zeros before would cost up to a tenth of a network's time.
INNER_LOOPS := $(if $(SANITIZE),,-ftrivial-auto-var-init=uninitialized)
CFLAGS_agent_engine_device_cpu_ml_ml_forest := -O3 $(INNER_LOOPS)
# Nor do these begin with zeros: each has rooms for some hundred pixels, of which small activations use few.
CFLAGS_agent_engine_device_cpu_fast_depthwise := $(INNER_LOOPS)
CFLAGS_agent_engine_device_cpu_fast_step_combine := $(INNER_LOOPS)
CFLAGS_agent_engine_device_cpu_fast_step_norm := $(INNER_LOOPS)
CFLAGS_agent_engine_device_cpu_fast_step_sum := $(INNER_LOOPS)
# The same inner loops are compiled three times; agent/engine/device/cpu/isa.c chooses at run time.
CFLAGS_agent_engine_device_cpu_vector_vector_avx2 := -mavx2 -mfma $(INNER_LOOPS) $(CFLAGS_VECTOR)
CFLAGS_agent_engine_device_cpu_vector_vector_avx512 := -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma $(INNER_LOOPS) $(CFLAGS_VECTOR)
CFLAGS_agent_engine_device_cpu_vector_vector_bfloat_avx512 := $(CFLAGS_agent_engine_device_cpu_vector_vector_avx512) -mavx512bf16
CFLAGS_agent_engine_device_cpu_vector_vector_bfloat_amx := $(CFLAGS_agent_engine_device_cpu_vector_vector_bfloat_avx512) -mamx-tile -mamx-bf16
CFLAGS_agent_engine_device_cpu_vector_vector_plain := $(INNER_LOOPS) $(CFLAGS_VECTOR)
CFLAGS_agent_engine_device_cpu_chain_chain_loops_avx2 := $(CFLAGS_agent_engine_device_cpu_vector_vector_avx2)
CFLAGS_agent_engine_device_cpu_chain_chain_loops_avx512 := $(CFLAGS_agent_engine_device_cpu_vector_vector_avx512)
CFLAGS_agent_engine_device_cpu_chain_chain_loops_plain := $(INNER_LOOPS) $(CFLAGS_VECTOR)
# Plain loops over bytes, which only -O3 vectorizes.
CFLAGS_agent_data_image_pixels := -O3
CFLAGS_agent_data_image_yuv := -O3
CFLAGS_agent_comm_mpi = $(CFLAGS_MPI)
CFLAGS_tests_unit_agent_comm_test_nccl := $(if $(WITH_CUDA),-isystem $(CUDA_ROOT)/include)
CFLAGS_tests_unit_agent_data_image_test_jpeg_hardware := $(if $(WITH_CUDA),-isystem $(CUDA_ROOT)/include)
CFLAGS_tests_bench_allreduce = $(CFLAGS_MPI)
CFLAGS_MPI = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PACKAGES_MPI)))
# Machine code for Hopper; PTX for all others from Turing on, which their driver compiles at start.
NVCCFLAGS := -O3 -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90 -I. -Xcompiler -fPIE,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics

##### sources ####################################################################################
find_c = $(sort $(shell find $(1) 2>/dev/null -name '*.c' -not -name main.c))
LIB_SOURCES := $(call find_c,lib)
OPERATOR_SOURCES := $(call find_c,operator)
AGENT_SOURCES := $(filter-out agent/engine/device/cuda/% agent/launch/tunnel/preload.c agent/shim/% agent/trainer/% agent/comm/mpi.c,$(call find_c,agent)) \
	$(if $(WITH_CUDA),$(call find_c,agent/engine/device/cuda))
SHIM_SOURCES := $(call find_c,agent/shim) agent/shim/main.c
# The files that use MPI. windlass-agent and windlass-shim are not linked with MPI.
MPI_SOURCES := agent/comm/mpi.c agent/trainer/registry.c
TRAINER_SOURCES := $(call find_c,agent/trainer) agent/trainer/main.c agent/comm/mpi.c
CUDA_SOURCES := $(if $(WITH_CUDA),$(sort $(shell find agent/engine/device/cuda -name "*.cu")))
$(OBJ)/agent/engine/device/cuda/%.c.o: private ALL_CFLAGS += -isystem $(CUDA_ROOT)/include
objects = $(patsubst %,$(OBJ)/%.o,$(1))
# Objects that only a pattern names would be removed after the link. (Not all objects: one of these that is missing does not
# make its program old, so a new source would not get into an archive that exists.)
.SECONDARY: $(call objects,$(shell find tests -name '*.c'))

$(OBJ)/lib.a: $(call objects,$(LIB_SOURCES))
$(OBJ)/operator.a: $(call objects,$(OPERATOR_SOURCES))
$(OBJ)/agent.a: $(call objects,$(AGENT_SOURCES) $(CUDA_SOURCES))
$(OBJ)/%.a:
	@rm -f $@
	@ar rcs $@ $^

$(OBJ)/%.c.o: %.c $(OBJ)/.flags
	@mkdir -p $(@D)
	@echo "  CC   $<"
	@$(CC) $(ALL_CFLAGS) $(CFLAGS_$(subst /,_,$(basename $<))) -MMD -MP -c $< -o $@
$(OBJ)/%.cu.o: %.cu $(OBJ)/.flags
	@mkdir -p $(@D)
	@echo "  NVCC $<"
	@$(CACHED_NVCC) $(NVCCFLAGS) -MD -MF $(@:.o=.d) -c $< -o $@
# Rebuild when the flags change; the file is only touched when they do.
$(OBJ)/.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' > $@
# The schema and the manifests of `windlass init` are part of the program (EMBED_TEXT in each kind.c).
$(OBJ)/operator/kinds/batchscore/kind.c.o: crds/batchscore.yaml examples/init/score.yaml examples/init/program.yaml
$(OBJ)/operator/kinds/disttrain/kind.c.o: crds/disttrain.yaml examples/init/train.yaml examples/init/torchrun.yaml
$(OBJ)/operator/kinds/sweep/kind.c.o: crds/sweep.yaml examples/init/sweep.yaml
# So is the page of `windlass ui`.
$(OBJ)/operator/commands/ui/ui_web.c.o: $(addprefix operator/commands/ui/page/ui.,html js css)
# The library that is loaded into MPI's launchers is part of the program. It is for programs of any image, and so uses no
# C library. A sanitizer wants to be loaded first, so instrumented builds have none.
PRELOAD_CFLAGS := -std=gnu17 -D_GNU_SOURCE -I. $(WARNINGS) -O2 -ffreestanding -fno-builtin -fno-stack-protector \
	-fno-tree-loop-distribute-patterns -fvisibility=hidden -fPIC $(HARDEN_BRANCHES)
$(OBJ)/windlass-preload.so: $(addprefix agent/launch/tunnel/,preload.c preload_frame.h loaded_program.h) $(OBJ)/.flags
	@echo "  LINK $@"
	@$(if $(SANITIZE),: > $@,$(CC) $(PRELOAD_CFLAGS) -shared -nostdlib -Wl,-z,now,-z,relro,-z,noexecstack \
		-Wl,--hash-style=both -Wl,-soname,windlass-preload.so -Wl,--build-id=none -s -o $@ $<)
CFLAGS_agent_launch_tunnel_preload_file := -Wa,-I,$(OBJ)
$(OBJ)/agent/launch/tunnel/preload_file.c.o: $(OBJ)/windlass-preload.so
-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

##### programs ###################################################################################
.PHONY: all windlass agent shim trainer shim-archives
# (Sanitizers come as shared libraries.)
all: windlass agent trainer $(if $(SANITIZE),,shim)
windlass: $(BUILD)/windlass
agent: $(BUILD)/windlass-agent
shim: $(BUILD)/windlass-shim
trainer: $(BUILD)/windlass-trainer
$(BUILD)/windlass: $(OBJ)/operator/main.c.o $(OBJ)/operator.a $(OBJ)/lib.a
	@echo "  LINK $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_OPERATOR) $(LIBS_LIB)
$(BUILD)/windlass-agent: $(OBJ)/agent/main.c.o $(OBJ)/agent.a $(OBJ)/lib.a
	@echo "  LINK $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_AGENT) $(LIBS_LIB) -lm
$(BUILD)/windlass-trainer: $(call objects,$(TRAINER_SOURCES)) $(OBJ)/agent.a $(OBJ)/lib.a
	@echo "  LINK $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_MPI) $(LIBS_AGENT) $(LIBS_LIB) -lm
# What users' programs in Python import is beside the programs that start them.
$(BUILD)/windlass-agent $(BUILD)/windlass-shim: | $(BUILD)/python/windlass.py
$(BUILD)/python/windlass.py: agent/score/worker/python/windlass.py
	@install -D -m 644 $< $@
# The linker takes from agent.a what the commands need. The linker warns about functions of glibc that load libraries
# (libcurl and libwebsockets contain them; tests/e2e/score/test_shim.sh shows that they are not called): these
# warnings are left out, and everything else that the linker reports is printed. Not --no-warnings, which also
# hides undefined functions.
# Debian's libcurl.a refers to Kerberos, LDAP, RTMP, SSH and the public suffix list, for protocols and cookies that
# lib/net/http.c never allows. Debian has no static Kerberos, and the others would add code that is never called. So these
# names are weak in a copy of the archive: they stay undefined, and any other undefined name is still an error.
SHIM_UNUSED := gss_ GSS_C_NT_ ber_ ldap_ RTMP_ libssh2_ psl_
$(BUILD)/windlass-shim: $(call objects,$(SHIM_SOURCES)) $(OBJ)/agent.a $(OBJ)/lib.a
	@echo "  LINK $@"
	@$$($(CC) -print-prog-name=objcopy) --wildcard $(SHIM_UNUSED:%=--weaken-symbol='%*') \
		$$($(CC) -print-file-name=libcurl.a) $(OBJ)/libcurl.a
	@$(CC) -static-pie $(HARDEN_LINK) -pthread $(LDFLAGS) -o $@ $^ -Wl,--start-group $(OBJ)/libcurl.a \
		$(patsubst %,-l%,$(filter-out curl,$(SHIM_LIBRARIES))) -Wl,--end-group -lm 2>$@.log || { cat $@.log >&2; exit 1; }
	@! grep -v -e "warning: Using '.*' in statically linked" -e ": in function " $@.log >&2
# Prints where they are, for the list of licences.
shim-archives:
	@for name in $(SHIM_LIBRARIES); do $(CC) -print-file-name=lib$$name.a; done

##### make install #############################################################################
PREFIX ?= /usr/local
.PHONY: install
install: all
	install -D -m 755 $(BUILD)/windlass $(DESTDIR)$(PREFIX)/bin/windlass
	install -D -m 755 $(BUILD)/windlass-agent $(DESTDIR)$(PREFIX)/bin/windlass-agent
	install -m 755 $(BUILD)/windlass-shim $(DESTDIR)$(PREFIX)/bin/windlass-shim
	install -m 755 $(BUILD)/windlass-trainer $(DESTDIR)$(PREFIX)/bin/windlass-trainer
	install -D -m 644 agent/score/worker/python/windlass.py $(DESTDIR)$(PREFIX)/share/windlass/python/windlass.py
	ln -sf windlass $(DESTDIR)$(PREFIX)/bin/kubectl-windlass
	images/man.sh $(BUILD) $(DESTDIR)$(PREFIX)/share/man/man1

##### tests ######################################################################################
UNIT_SOURCES := $(sort $(shell find tests/unit tests/conformance 2>/dev/null -name 'test_*.c'))
UNIT_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(UNIT_SOURCES))
# There are hundreds of programs, and gold (part of binutils) links each in a third of the time.
FAST_LINK := $(if $(shell command -v ld.gold 2>/dev/null),-fuse-ld=gold)
$(BUILD)/tests/%: private LDFLAGS += $(FAST_LINK)
$(BUILD)/tests/unit/lib/%: $(OBJ)/tests/unit/lib/%.c.o $(OBJ)/lib.a
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_LIB) -lm
$(BUILD)/tests/unit/operator/%: $(OBJ)/tests/unit/operator/%.c.o $(OBJ)/operator.a $(OBJ)/lib.a
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS_OPERATOR) $(LIBS_LIB) -lm
$(BUILD)/tests/kube/%: $(OBJ)/tests/kube/%.c.o $(OBJ)/operator.a $(OBJ)/lib.a
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_OPERATOR) $(LIBS_LIB)
$(BUILD)/tests/conformance/test_cluster: $(OBJ)/tests/conformance/test_cluster.c.o \
		$(OBJ)/operator.a $(OBJ)/lib.a
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_OPERATOR) $(LIBS_LIB)
$(BUILD)/tests/%: $(OBJ)/tests/%.c.o $(OBJ)/agent.a $(OBJ)/lib.a
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_AGENT) $(LIBS_LIB) -lm
# Compares with libswscale.
$(BUILD)/tests/unit/agent/data/image/test_yuv: private LIBS_AGENT += -lswscale
# Tests of the agent that fill defaults in as windlass does (tests/agent_defaults.h).
$(addprefix $(BUILD)/tests/unit/agent/train/,optimizer/test_optimizer optimizer/test_rate dataset/test_augment dataset/test_dataset dataset/test_loader dataset/test_webdataset dataset/test_data_table dataset/test_data_text): $(BUILD)/tests/%: $(OBJ)/tests/%.c.o $(OBJ)/agent.a $(OBJ)/operator.a $(OBJ)/lib.a
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_AGENT) $(LIBS_OPERATOR) $(LIBS_LIB) -lm
# Tests of MPI: the suite for every comm, and benchmarks.
$(addprefix $(BUILD)/tests/,conformance/test_comm conformance/test_train_device bench/allreduce bench/overlap): $(BUILD)/tests/%: $(OBJ)/tests/%.c.o $(call objects,$(MPI_SOURCES)) $(OBJ)/agent.a $(OBJ)/operator.a $(OBJ)/lib.a
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_MPI) $(LIBS_AGENT) $(LIBS_OPERATOR) $(LIBS_LIB) -lm
# Shared by these tests: a real store whose calls fail by a seed.
$(addprefix $(BUILD)/tests/,conformance/test_store conformance/test_store_azure conformance/test_store_s3 conformance/test_commit_race unit/agent/score/log/test_commit unit/agent/score/coordinator/test_summary unit/agent/score/coordinator/test_outputs unit/agent/store/test_spool unit/agent/store/test_registered unit/agent/data/input/test_list unit/agent/train/test_checkpoint): $(OBJ)/tests/broken_store.c.o
$(addprefix $(BUILD)/tests/conformance/,test_store test_store_azure test_store_s3): $(OBJ)/tests/conformance/store_suite.c.o
# A device with memory apart from the host's; stand-ins of NVIDIA's libraries look it up.
$(BUILD)/tests/conformance/test_train_device $(BUILD)/tests/unit/agent/engine/run/test_session: $(OBJ)/tests/device_apart.c.o
$(BUILD)/tests/conformance/test_train_device: LDFLAGS += -rdynamic
.PHONY: fakegpu
fakegpu: $(addprefix $(BUILD)/tests/fakegpu/,libnccl.so.2 libcuda.so.1 old/libnccl.so.2 old/libcuda.so.1)
$(BUILD)/tests/fakegpu/%: tests/fakegpu/fakegpu.c
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) $(if $(findstring /old/,$@),-DFAKE_OLD=1) -fPIC -shared -o $@ $< -ldl
# The same for nvJPEG, which tests open by its folder.
FAKEJPEG := $(addprefix $(BUILD)/tests/fakejpeg/,libnvjpeg.so.13 libcuda.so.1 old/libnvjpeg.so.13 old/libcuda.so.1)
.PHONY: fakejpeg
fakejpeg: $(FAKEJPEG)
$(BUILD)/tests/fakejpeg/%: tests/fakejpeg/fakejpeg.c
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) $(if $(findstring /old/,$@),-DFAKE_OLD=1) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -lturbojpeg -ldl
$(BUILD)/tests/unit/agent/data/image/test_jpeg_hardware: | $(FAKEJPEG)
$(BUILD)/tests/unit/agent/launch/gang/test_gang_model: $(OBJ)/tests/unit/agent/launch/gang/gang_world.c.o
$(addprefix $(BUILD)/tests/unit/operator/kinds/sweep/,test_plan_life test_plan_register): $(OBJ)/tests/unit/operator/kinds/sweep/sweep_world.c.o
$(addprefix $(BUILD)/tests/unit/operator/kinds/,batchscore/test_plan_life disttrain/test_plan_life sweep/test_plan_life sweep/test_plan_register): $(OBJ)/tests/status_life.c.o
$(addprefix $(BUILD)/tests/unit/operator/kinds/,batchscore/test_plan disttrain/test_plan sweep/test_plan): $(OBJ)/tests/plan_rows.c.o
# A client of operator/kube/ before a scripted server, in stepped time.
SCRIPT_WORLD := $(addprefix $(OBJ)/tests/kube/,script_server.c.o stepped_clock.c.o)
$(addprefix $(BUILD)/tests/unit/operator/,kube/test_conduct kube/test_answered kube/test_answer_size kube/test_missing_kind kube/test_token_file kube/test_write_turns test_asking test_asking_any test_asking_limits test_asking_others test_beside test_split_leader): $(SCRIPT_WORLD)
$(addprefix $(BUILD)/tests/unit/operator/,test_asking test_asking_any test_asking_limits test_asking_others test_beside test_split_leader): $(OBJ)/tests/kube/api_double.c.o
$(addprefix $(BUILD)/tests/unit/operator/commands/status/,test_live test_status): $(OBJ)/tests/kube/script_server.c.o
# A mount that fails on command (tests/e2e/storage/test_fuse.sh).
$(BUILD)/tests/fuse/sick: tests/fuse/sick.c
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $$(pkg-config --cflags fuse3) -o $@ $< $$(pkg-config --libs fuse3)
$(BUILD)/tests/bench/scorer: $(OBJ)/tests/bench/scorer.c.o # a user's program, without our code
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $^
# A windlass with one more kind: its table of kinds replaces the one in the archive. It is
# beside windlass-agent, where `run` looks for the agent.
WINDLASS_TOY := $(BUILD)/windlass-toy
$(OBJ)/tests/kinds/toy/toy.c.o: tests/kinds/toy/toy.yaml
$(WINDLASS_TOY): $(OBJ)/operator/main.c.o $(call objects,$(wildcard tests/kinds/toy/*.c)) \
		$(OBJ)/operator.a $(OBJ)/lib.a
	@mkdir -p $(@D)
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_OPERATOR) $(LIBS_LIB)
# A model server that refuses and breaks on command, for tests/e2e/endpoint, and beside test_pool.
MODEL_SERVER := $(BUILD)/tests/endpoint/model_server
$(BUILD)/tests/unit/agent/score/endpoint/test_pool: | $(MODEL_SERVER)
.PHONY: unit-programs
unit-programs: $(UNIT_PROGRAMS) $(WINDLASS_TOY) $(MODEL_SERVER)

-include tests/tests.mk
-include tests/cuda/cuda.mk

.PHONY: clean FORCE
FORCE:
clean:
	rm -rf build
