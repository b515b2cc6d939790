# cuda.mk: tests of agent/engine/device/cuda, with a GPU and without one (docs/testing/engine.md, "CUDA").

##### without a GPU: the same sources for the processor ##########################################
# Kernels compiled by g++ against emulated/, with stand-ins of CUDA's runtime, cuDNN and cuBLASLt, under sanitizers (whose
# dlopen uses RPATH alone). The kernels' accesses to memory go to watch.cpp in place of the thread sanitizer.
EMULATED := $(BUILD)/emulated
EMULATED_FLAGS := -O1 -g -fPIC -I. -isystem $(CUDA_ROOT)/include -Wall -Wextra -Werror \
	-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
EMULATED_CXX = $(patsubst %gcc,%g++,$(CC)) -std=c++17 -I tests/cuda/emulated $(EMULATED_FLAGS)
EMULATED_C = $(CC) -std=gnu17 -D_GNU_SOURCE -DWITH_CUDA=1 -Wno-missing-field-initializers $(EMULATED_FLAGS)
EMULATED_OBJECTS := $(patsubst %,$(EMULATED)/%.o,$(CUDA_SOURCES) tests/cuda/runtime.cpp tests/cuda/watch.cpp tests/cuda/operands.c \
	$(if $(WITH_CUDA),$(call find_c,agent/engine/device/cuda)))
EMULATED_LIBRARIES := $(EMULATED)/libcudnn.so.9 $(EMULATED)/libcublasLt.so.13
# The tests of tests/conformance that open devices by name.
CUDA_CONFORMANCE := test_device test_gradient test_train_graph
EMULATED_CONFORMANCE := $(addprefix $(EMULATED)/,$(CUDA_CONFORMANCE))
EMULATED_PROGRAMS := $(if $(WITH_CUDA),$(if $(SANITIZE),,$(EMULATED_CONFORMANCE) $(patsubst \
	tests/cuda/%.c,$(EMULATED)/%,$(sort $(wildcard tests/cuda/test_*.c)))))
UNIT_PROGRAMS += $(EMULATED_PROGRAMS)
.SECONDARY: $(patsubst %,$(EMULATED)/%.o,$(wildcard tests/cuda/*.c))
unit-programs: $(EMULATED_PROGRAMS)

$(EMULATED)/%.cu.o: %.cu
	@mkdir -p $(@D)
	@echo "  C++  $<"
	@$(subst address$(comma),thread$(comma),$(EMULATED_CXX)) -MMD -MP -x c++ -c $< -o $@
$(EMULATED)/%.cpp.o: %.cpp
	@mkdir -p $(@D)
	@echo "  C++  $<"
	@$(EMULATED_CXX) -MMD -MP -c $< -o $@
# It is called for each access of a kernel.
$(EMULATED)/tests/cuda/watch.cpp.o: private EMULATED_FLAGS := -O2 $(filter-out -O1 -fsanitize%,$(EMULATED_FLAGS))
$(EMULATED)/%.c.o: %.c
	@mkdir -p $(@D)
	@echo "  CC   $< (emulated)"
	@$(EMULATED_C) -MMD -MP -c $< -o $@
$(EMULATED)/libcudnn.so.9: $(EMULATED)/tests/cuda/dnn.cpp.o
$(EMULATED)/libcublasLt.so.13: $(EMULATED)/tests/cuda/lt.cpp.o
$(EMULATED_LIBRARIES):
	@$(EMULATED_CXX) -shared -o $@ $^
EMULATED_LINK = $(EMULATED_CXX) -pie -pthread -Wl,--export-dynamic -Wl,--wrap=task_run,--wrap=task_finish -Wl,--disable-new-dtags,-rpath,'$$ORIGIN' -o $@ \
	$(filter %.o,$^) $(OBJ)/agent.a $(OBJ)/lib.a $(LIBS_AGENT_ALONE) $(LIBS_LIB) -ldl -lm
$(EMULATED_CONFORMANCE): $(EMULATED)/%: $(OBJ)/tests/conformance/%.c.o $(EMULATED_OBJECTS) $(OBJ)/agent.a $(OBJ)/lib.a | $(EMULATED_LIBRARIES)
	@echo "  LINK $@"
	@$(EMULATED_LINK)
# It fills defaults in as windlass does (tests/agent_defaults.h).
$(EMULATED)/test_train: $(EMULATED)/tests/cuda/test_train.c.o $(EMULATED_OBJECTS) $(OBJ)/agent.a $(OBJ)/operator.a $(OBJ)/lib.a | $(EMULATED_LIBRARIES)
	@echo "  LINK $@"
	@$(EMULATED_LINK) $(OBJ)/operator.a $(OBJ)/lib.a $(LIBS_OPERATOR)
$(EMULATED)/test_faults: $(EMULATED)/tests/cuda/faults.cu.o
$(EMULATED)/test_%: $(EMULATED)/tests/cuda/test_%.c.o $(EMULATED_OBJECTS) $(OBJ)/agent.a $(OBJ)/lib.a | $(EMULATED_LIBRARIES)
	@echo "  LINK $@"
	@$(EMULATED_LINK)
# The agent on the emulated GPU, for tests/e2e/score/test_gpu_score.sh, which checks whether this rule exists. Its decoder
# is confined as in other instrumented programs, as far as sanitizers can bear it.
ifneq ($(WITH_CUDA),)
EMULATED_CONFINE := $(EMULATED)/agent/data/decoder/confine.c.o
$(EMULATED)/windlass-agent: $(OBJ)/agent/main.c.o $(EMULATED_CONFINE) $(EMULATED_OBJECTS) $(OBJ)/agent.a $(OBJ)/lib.a | $(EMULATED_LIBRARIES)
	@echo "  LINK $@"
	@$(EMULATED_LINK)
# The trainer, too (tests/e2e/train/test_gpu_train.sh).
$(EMULATED)/windlass-trainer: $(call objects,$(TRAINER_SOURCES)) $(EMULATED_CONFINE) $(EMULATED_OBJECTS) $(OBJ)/agent.a $(OBJ)/lib.a | $(EMULATED_LIBRARIES)
	@echo "  LINK $@"
	@$(EMULATED_LINK) $(LIBS_MPI)
# ResNet-50's training, small, to check that its benchmark works.
$(EMULATED)/train_bench: $(EMULATED)/tests/cuda/train_bench.c.o $(EMULATED_OBJECTS) $(OBJ)/agent.a $(OBJ)/lib.a | $(EMULATED_LIBRARIES)
	@echo "  LINK $@"
	@$(EMULATED_LINK)
endif
-include $(shell find $(EMULATED) -name '*.d' 2>/dev/null)

##### with a GPU: the engine alone ###############################################################
# graph, ops, onnx, run, the reference kernels and device/cuda, linked with libc and CUDA's runtime only (the linker takes
# from engine.a what they use; nothing of it needs another library): the programs
# in build/gpu may be copied to a bare machine with a GPU, cuDNN 9 and cuBLASLt 13, and run there by tests/cuda/gpu.sh.
.PHONY: gpu-test gpu-bench gpu-programs gpu-build
ENGINE_SOURCES := $(LIB_SOURCES) \
	$(call find_c,agent/engine/graph agent/engine/networks agent/engine/ops agent/engine/onnx agent/engine/run) $(addprefix agent/engine/device/,device.c kernel.c) \
	$(filter-out $(addprefix agent/engine/device/cpu/,device.c prepare.c layout.c peak.c isa.c \
	fast/% onednn/%),$(call find_c,agent/engine/device/cpu)) $(if $(WITH_CUDA),$(call find_c,agent/engine/device/cuda))
GPU_PROGRAMS := $(addprefix $(BUILD)/,$(CUDA_CONFORMANCE) bench train_bench)
gpu-programs: $(GPU_PROGRAMS)
gpu-build:
	+@$(MAKE) --no-print-directory BUILD=build/gpu CUDA=1 DEFINES=-DWITHOUT_CPU=1 gpu-programs
gpu-test: gpu-build
	@tests/cuda/gpu.sh test
gpu-bench: gpu-build
	@tests/cuda/gpu.sh bench
build/gpu/obj/engine.a: $(call objects,$(ENGINE_SOURCES) $(CUDA_SOURCES))
$(addprefix build/gpu/,$(CUDA_CONFORMANCE)): build/gpu/%: $(OBJ)/tests/conformance/%.c.o $(OBJ)/engine.a
	@echo "  LINK $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_CUDA) -lm
build/gpu/bench build/gpu/train_bench: build/gpu/%: $(OBJ)/tests/cuda/%.c.o $(OBJ)/engine.a
	@echo "  LINK $@"
	@$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_CUDA) -lm
