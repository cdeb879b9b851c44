# cave: sandbox profiles compiled to seccomp-BPF and cgroup eBPF.
#
#   make            build/cavec, build/caverun, build/libcave.a, build/libcave.so, and their helpers
#   make demo       install what is missing, build, compile an example, run a real tool under it
#   make check      install what is missing, build (also with sanitizers), run every test
#   make bench      speed and size beside what one would use instead
#   make soak       thousands of starts, killed, at once and one after another
#   make install    PREFIX=/usr/local DESTDIR=
#
# Who may include whom (tests/lint/includes checks it):
#   include        nothing of ours
#   bpf            include/cave
#   grammar        compiler (syntax tree and diagnostics only)
#   compiler       bpf, include/cave, grammar
#   runtime        include, bpf/artefact.h, bpf/hosts.h, bpf/nat64.h, bpf/sha256.h, bpf/credentials.h, bpf/operator.h,
#                  bpf/limits.h;
#                  runtime/check also the interpreter: bpf/vm.h, bpf/program.h, bpf/arena.h
#   tests          anything

# On all processors, unless it is said otherwise.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
CC = gcc
MUSL_CC = musl-gcc
CFLAGS ?= -O2 -g
MUSL_HARDEN = -fno-stack-protector
WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef $(if $(WERROR),-Werror)
CPPFLAGS += -I. -Iinclude -I$(B)/gen -D_GNU_SOURCE -DCAVE_VERSION='"$(VERSION)"'
HARDEN = -fstack-protector-strong -D_FORTIFY_SOURCE=2
ARCH := $(shell uname -m)

B := build
ifdef SAN
B := build/san
CFLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HARDEN :=
endif
Q := @
ifdef V
Q :=
endif

CONFORMANCE := $(B)/conformance.bpf $(B)/conformance-egress.bpf

all: $(B)/cavec $(B)/caverun $(B)/cave-load $(B)/cave-resolve $(B)/cave-resolve.bpf $(B)/cave-probe $(B)/cave-check $(B)/cave-report $(CONFORMANCE) $(B)/libcave.a $(B)/libcave.so

# --- the compiler --------------------------------------------------------------------------------

TABLES := syscalls_table syscalls_args syscalls_consts
GEN := $(B)/gen/cave.tab.c $(B)/gen/cave.lex.c $(TABLES:%=$(B)/gen/%.h)
CAVEC_SRC := $(filter-out bpf/loader.c,$(wildcard bpf/*.c)) $(wildcard compiler/*.c)
CAVEC_LIB := -ljansson -lpsl -lidn2 -lunistring
STATIC := $(if $(SAN),,-static)

# The tests are of objects for the host's C library; cavec itself, like caverun, is linked against musl: half of a compile
# would be the start-up of glibc (make bench).  The sanitizers have no musl build.
O := $(if $(SAN),$(B),$(B)/musl)
GEN_OBJ := gen/cave.tab.o gen/cave.lex.o
TEST_OBJ := $(CAVEC_SRC:%.c=$(B)/%.o) $(GEN_OBJ:%=$(B)/%)
CAVEC_OBJ := $(CAVEC_SRC:%.c=$(O)/%.o) $(GEN_OBJ:%=$(O)/%)
# Debian's libraries, which were built for glibc: compiler/musl has what they need of that.
LIBRARIES := $(if $(SAN),$(CAVEC_LIB),$(B)/musl/compiler/musl/fortify.o \
	$(foreach l,jansson psl idn2 unistring,$(shell $(CC) -print-file-name=lib$(l).a)))
O_CC := $(if $(SAN),$(CC),$(MUSL_CC))

$(CAVEC_OBJ) $(TEST_OBJ): | $(GEN)
$(B)/musl/compiler/%.o $(B)/musl/gen/%.o: MUSL_HARDEN := -fstack-protector-strong

$(B)/cavec: $(CAVEC_OBJ) $(filter %.o,$(LIBRARIES))
	@echo "  LD    $@"
	$(Q)$(O_CC) $(CFLAGS) $(STATIC) -o $@ $(CAVEC_OBJ) $(LIBRARIES)

$(B)/gen/cave.tab.c: grammar/cave.y
	@mkdir -p $(@D)
	@echo "  BISON $<"
	$(Q)bison -Wall -Werror --defines=$(B)/gen/cave.tab.h -o $@ $<
$(B)/gen/cave.tab.h: $(B)/gen/cave.tab.c

$(B)/gen/cave.lex.c: grammar/cave.l $(B)/gen/cave.tab.h
	@mkdir -p $(@D)
	@echo "  FLEX  $<"
	$(Q)flex -o $@ $<

$(B)/gen/syscalls_table.h: compiler/syscalls.tbl
$(B)/gen/syscalls_args.h: compiler/syscalls_args.tbl
$(B)/gen/syscalls_consts.h: compiler/syscalls_consts.tbl
$(B)/gen/syscalls_names.h: compiler/syscalls.tbl
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	$(Q)awk 'BEGIN { print "static const char *const syscall_names[] = {" } /^[a-z_]/ && $$3 != "-" { \
		print "\t[" $$3 "] = \"" $$1 "\"," } END { print "};" }' $< >$@.tmp && mv $@.tmp $@
$(B)/gen/syscalls_%.h: compiler/syscalls_%.awk
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	$(Q)awk -f $< $(filter %.tbl,$^) > $@.tmp && mv $@.tmp $@

# The built-in syscall sets are resolved, and their filters generated, by the parts of the compiler that do so.
MAKER_OBJ := $(O)/compiler/tables/builtin.o $(GEN_OBJ:%=$(O)/%) \
	$(patsubst %.c,$(O)/%.o,bpf/arena.c bpf/credentials.c bpf/sort.c $(wildcard bpf/seccomp*.c) \
	compiler/diag.c compiler/source.c compiler/visible.c \
	$(addprefix compiler/syscalls_,args.c clauses.c condition.c consts.c errno.c promises.c rules.c table.c))

$(B)/compiler/tables/builtin: $(MAKER_OBJ) $(filter %.o,$(LIBRARIES))
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(O_CC) $(CFLAGS) $(STATIC) -o $@ $(MAKER_OBJ) $(LIBRARIES)
$(B)/gen/builtin_tables.h: $(B)/compiler/tables/builtin $(wildcard compiler/base/*.cave)
	@echo "  GEN   $@"
	$(Q)$< compiler/base > $@.tmp && mv $@.tmp $@
$(MAKER_OBJ): | $(GEN)
$(B)/compiler/syscalls_builtin.o $(B)/musl/compiler/syscalls_builtin.o: $(B)/gen/builtin_tables.h

# embedded with .incbin, which the compiler's own dependencies do not see
$(B)/compiler/sets.o $(B)/musl/compiler/sets.o: $(wildcard compiler/sets/*)

$(B)/gen/%.o: $(B)/gen/%.c
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(HARDEN) -Wall -Wno-unused -MMD -MP -c -o $@ $<

$(B)/musl/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	@echo "  MUSL  $<"
	$(Q)$(MUSL_CC) $(KERNEL_HEADERS) $(CPPFLAGS) $(CFLAGS) $(MUSL_HARDEN) -Wall -Wno-unused -MMD -MP -c -o $@ $<

$(B)/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(HARDEN) $(WARN) -MMD -MP -c -o $@ $<

# --- the runtime ---------------------------------------------------------------------------------
# caverun is linked statically against musl: its start-up costs a third of glibc's (make bench).

# The library is the same sources for the hosts' C library, without what is caverun's own.

RUN_SRC := $(filter-out runtime/load_%.c runtime/resolve_%.c,$(wildcard runtime/*.c)) $(wildcard bpf/artefact*.c) bpf/hosts.c bpf/sha256.c bpf/credentials.c bpf/operator.c bpf/nat64.c bpf/limits.c bpf/cbpf.c
RUN_OBJ := $(RUN_SRC:%.c=$(B)/musl/%.o)
CAVERUN_OWN := runtime/main.c runtime/main_kept.c runtime/become.c runtime/ending.c runtime/onlooker.c runtime/message.c runtime/options.c runtime/wait.c
LIB_OBJ := $(patsubst %.c,$(B)/pic/%.o,$(filter-out $(CAVERUN_OWN),$(RUN_SRC)))
SONAME := libcave.so.0
RESOLVE_SRC := $(wildcard runtime/resolve_*.c) bpf/hosts.c
RESOLVE_OBJ := $(RESOLVE_SRC:%.c=$(B)/musl/%.o)
LOAD_SRC := $(wildcard runtime/load_*.c)
LOAD_OBJ := $(patsubst %.c,$(B)/musl/%.o,$(LOAD_SRC) runtime/kept_record.c $(wildcard bpf/artefact*.c) bpf/hosts.c bpf/sha256.c \
	bpf/limits.c)
KERNEL_HEADERS := -idirafter /usr/include -idirafter /usr/include/$(ARCH)-linux-gnu

ifdef SAN
# The sanitizers have no musl build.
$(B)/musl/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<
$(B)/caverun: $(RUN_OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^
$(B)/cave-resolve: $(RESOLVE_OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^ -lresolv
else
$(B)/musl/%.o: %.c
	@mkdir -p $(@D)
	@echo "  MUSL  $<"
	$(Q)$(MUSL_CC) $(KERNEL_HEADERS) $(CPPFLAGS) $(CFLAGS) $(MUSL_HARDEN) $(WARN) -MMD -MP -c -o $@ $<
$(B)/caverun: $(RUN_OBJ)
	@echo "  LD    $@"
	$(Q)$(MUSL_CC) $(CFLAGS) -static -o $@ $^
$(B)/cave-resolve: $(RESOLVE_OBJ)
	@echo "  LD    $@"
	$(Q)$(MUSL_CC) $(CFLAGS) -static -o $@ $^
endif

# Where an installed cave-load is: changes with PREFIX, and so must what knows it.
$(B)/gen/cave_libexec.h: FORCE
	@mkdir -p $(@D)
	@echo '#define CAVE_LIBEXEC "$(PREFIX)/libexec/cave"' | cmp -s - $@ || \
		echo '#define CAVE_LIBEXEC "$(PREFIX)/libexec/cave"' >$@
$(RUN_OBJ) $(LIB_OBJ): | $(B)/gen/cave_libexec.h $(B)/gen/syscalls_names.h

$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	@echo "  PIC   $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(HARDEN) -fPIC -fvisibility=hidden -pthread $(WARN) -MMD -MP -c -o $@ $<

# One object whose own names are local to it: a host's cannot collide with them.
$(B)/libcave.a: $(LIB_OBJ)
	@echo "  AR    $@"
	$(Q)ld -r -o $(B)/pic/libcave.o $^
	$(Q)objcopy --localize-hidden $(B)/pic/libcave.o
	$(Q)rm -f $@ && ar rcs $@ $(B)/pic/libcave.o

$(B)/$(SONAME): $(LIB_OBJ) runtime/libcave.map
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -shared -pthread -Wl,-soname,$(SONAME) -Wl,--version-script=runtime/libcave.map \
		-Wl,-z,relro,-z,now $(if $(SAN),,-Wl,-z,defs) -o $@ $(LIB_OBJ)
$(B)/libcave.so: $(B)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

$(B)/cave-load: $(LOAD_OBJ)
	@echo "  LD    $@"
	$(Q)$(O_CC) $(CFLAGS) $(STATIC) -pthread -o $@ $^

# What was refused, and why: beside caverun where that is asked for.
REFUSED_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard runtime/refused/*.c)) $(B)/runtime/json.o $(B)/runtime/printable.o \
	$(patsubst %.c,$(B)/%.o,$(wildcard bpf/artefact*.c)) $(patsubst %,$(B)/bpf/%.o,hosts sha256 limits)
$(B)/cave-report: $(REFUSED_OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) $(STATIC) -o $@ $^ -lbpf -lelf -lz

PROBE_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard runtime/probe/*.c))

CHECK_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard runtime/check/*.c))

# The doctor and the conformance test, with what they share with the library.
$(B)/cave-check: $(CHECK_OBJ) $(LIB_OBJ) $(patsubst %,$(B)/bpf/%.o,arena ebpf ebpf_check ebpf_map)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) $(STATIC) -pthread -o $@ $^

$(B)/cave-resolve.bpf: runtime/resolve.cave $(B)/cavec
	@echo "  CAVE  $@"
	$(Q)$(B)/cavec $< -o $@

$(CONFORMANCE): $(B)/%.bpf: runtime/check/%.cave $(B)/cavec
	@echo "  CAVE  $@"
	$(Q)$(B)/cavec $< -o $@

# Static, so that it needs no grant but itself.
$(B)/cave-probe: $(PROBE_OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) $(STATIC) -pthread -o $@ $^

# --- tests ---------------------------------------------------------------------------------------

UNIT_SRC := $(wildcard tests/unit/*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$(B)/%)
TOOL_SRC := $(wildcard tests/tools/*.c)
TOOL_BIN := $(TOOL_SRC:%.c=$(B)/%) $(B)/tests/library/caverun $(B)/examples/host
TESTABLE := $(filter-out $(B)/compiler/main.o,$(TEST_OBJ))

$(B)/tests/unit/libseccomp_test: TEST_LIB := -lseccomp
$(B)/tests/unit/maps_test $(B)/tests/unit/egress_kernel_test: TEST_LIB := -lbpf -lelf -lz
$(B)/tests/unit/json_test: $(B)/runtime/json.o
$(B)/tests/unit/printable_test: $(B)/runtime/printable.o
$(B)/tests/unit/rights_test: $(B)/runtime/rights.o
$(B)/tests/unit/names_test: $(B)/runtime/names_judge.o $(B)/runtime/names_hosts.o
$(B)/tests/unit/kept_test: $(B)/runtime/kept_record.o $(B)/runtime/attached.o
$(B)/tests/unit/%: $(B)/tests/unit/%.o $(TESTABLE)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(CAVEC_LIB) $(TEST_LIB)

$(B)/tests/bench/%: $(B)/tests/bench/%.o $(TESTABLE)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(CAVEC_LIB) -lseccomp

$(B)/tests/tools/faulted: tests/tools/faulted.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) -O1 $(WARN) -nostdlib -static -fno-stack-protector -fno-builtin -o $@ $<

$(B)/tests/tools/%: tests/tools/%.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -pthread -o $@ $<

# In the place of caverun, for the same tests.
$(B)/tests/library/caverun: $(B)/tests/tools/hostrun
	@mkdir -p $(@D)
	$(Q)ln -f $< $@

# As caverun and its resolver are built.
$(B)/tests/tools/floor $(B)/tests/tools/forger: $(B)/tests/tools/%: tests/tools/%.c
	@mkdir -p $(@D)
	@echo "  MUSL  $<"
	$(Q)$(MUSL_CC) $(KERNEL_HEADERS) $(CPPFLAGS) -O2 -static -fno-stack-protector $(WARN) -o $@ $<

# Programs that use the library.
$(B)/examples/%: examples/%.c $(B)/libcave.a
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -pthread -o $@ $< $(B)/libcave.a
$(B)/tests/tools/host%: tests/tools/host%.c $(B)/libcave.a
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -pthread -o $@ $< $(B)/libcave.a

# The library for ThreadSanitizer, which cannot follow what shares memory with us until it executes.
TSAN_SRC := $(filter-out $(CAVERUN_OWN),$(RUN_SRC)) tests/tools/hostthreads.c
TSAN_OBJ := $(TSAN_SRC:%.c=$(B)/tsan/%.o)
TSAN := -fsanitize=thread
$(B)/tsan/runtime/spawn_child.o $(B)/tsan/runtime/init.o: TSAN :=
$(TSAN_OBJ): | $(B)/gen/cave_libexec.h $(B)/gen/syscalls_names.h
$(B)/tsan/%.o: %.c
	@mkdir -p $(@D)
	@echo "  TSAN  $<"
	$(Q)$(CC) $(CPPFLAGS) -O1 -g $(WARN) $(TSAN) -pthread -MMD -MP -c -o $@ $<
$(B)/tsan/hostthreads: $(TSAN_OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) -fsanitize=thread -pthread -o $@ $^

# libFuzzer is clang's.
FUZZED := $(wildcard bpf/artefact*.c) bpf/hosts.c bpf/sha256.c bpf/limits.c
$(B)/fuzz/artefact: tests/fuzz/artefact_fuzz.c $(FUZZED) tests/unit/artefact_build.h $(wildcard bpf/artefact*.h)
	@mkdir -p $(@D)
	@echo "  FUZZ  $@"
	$(Q)clang $(CPPFLAGS) -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -o $@ $(filter %.c,$^)

FUZZED_RESOLVE := runtime/resolve_message.c runtime/names_hosts.c bpf/hosts.c
$(B)/fuzz/resolve: tests/fuzz/resolve_fuzz.c $(FUZZED_RESOLVE) $(wildcard runtime/resolve_*.h bpf/hosts.h)
	@mkdir -p $(@D)
	@echo "  FUZZ  $@"
	$(Q)clang $(CPPFLAGS) -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -o $@ \
		$(filter %.c,$^) -lresolv

# The resolver is linked against musl, whose functions for messages are others, and which has no sanitizers.
$(B)/fuzz/resolve-musl: tests/fuzz/replay.c tests/fuzz/resolve_fuzz.c $(FUZZED_RESOLVE) $(wildcard runtime/resolve_*.h)
	@mkdir -p $(@D)
	@echo "  MUSL  $@"
	$(Q)$(MUSL_CC) $(KERNEL_HEADERS) $(CPPFLAGS) $(CFLAGS) $(MUSL_HARDEN) $(WARN) -static -o $@ $(filter %.c,$^)

# The whole compiler, for long hunts (tests/fuzz/profile.sh SECONDS); what runs with the unit tests repeats given inputs.
FUZZED_PROFILE := $(patsubst %.c,$(B)/fuzz/objects/%.o,$(filter-out compiler/main.c,$(CAVEC_SRC)) tests/fuzz/profile_fuzz.c) \
	$(GEN_OBJ:%=$(B)/fuzz/objects/%)
$(FUZZED_PROFILE): | $(GEN)
$(B)/fuzz/objects/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	$(Q)clang $(CPPFLAGS) -g -O1 -w -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -c -o $@ $<
$(B)/fuzz/objects/%.o: %.c
	@mkdir -p $(@D)
	@echo "  FUZZ  $<"
	$(Q)clang $(CPPFLAGS) -g -O1 -w -MMD -MP -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
		-c -o $@ $<
$(B)/fuzz/profile: $(FUZZED_PROFILE)
	$(Q)clang -fsanitize=fuzzer,address,undefined -o $@ $^ $(CAVEC_LIB)

$(B)/tests/fuzz/profile: $(B)/tests/fuzz/profile_fuzz.o $(B)/tests/fuzz/replay.o $(TESTABLE)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(CAVEC_LIB)

fuzz: $(B)/fuzz/artefact $(B)/fuzz/resolve $(B)/fuzz/resolve-musl
fuzz-profile: $(B)/fuzz/profile
unit: $(UNIT_BIN) $(B)/tests/fuzz/profile
tools: $(TOOL_BIN) $(B)/tsan/hostthreads

check:
	$(Q)tests/setup
	$(Q)$(MAKE) --no-print-directory WERROR=1 all tools fuzz
	$(Q)$(MAKE) --no-print-directory WERROR=1 SAN=1 all unit
	$(Q)tests/run

demo:
	$(Q)tests/setup
	$(Q)$(MAKE) --no-print-directory all
	$(Q)examples/demo

# The numbers of a long life: minutes.
soak:
	$(Q)tests/setup
	$(Q)$(MAKE) --no-print-directory all tools
	$(Q)tests/soak

bench:
	$(Q)tests/setup
	$(Q)$(MAKE) --no-print-directory all tools $(B)/tests/bench/filters $(B)/tests/bench/decisions
	$(Q)tests/bench/run
	$(Q)tests/bench/review

# --- installing ----------------------------------------------------------------------------------

LIBDIR ?= $(PREFIX)/lib
SHARE = $(DESTDIR)$(PREFIX)/share

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/cave $(DESTDIR)$(PREFIX)/include/cave \
		$(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 755 $(B)/cavec $(B)/caverun $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/cave-load $(B)/cave-resolve $(B)/cave-probe $(B)/cave-check $(B)/cave-report $(DESTDIR)$(PREFIX)/libexec/cave
	install -m 644 $(CONFORMANCE) $(B)/cave-resolve.bpf $(DESTDIR)$(PREFIX)/libexec/cave
	install -m 644 include/cave/*.h $(DESTDIR)$(PREFIX)/include/cave
	install -m 644 include/cave.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(B)/libcave.a $(DESTDIR)$(LIBDIR)
	install -m 755 $(B)/$(SONAME) $(DESTDIR)$(LIBDIR)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libcave.so
	sed 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@VERSION@|$(VERSION)|' runtime/libcave.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/libcave.pc
	install -d $(addprefix $(SHARE)/,man/man1 man/man5 bash-completion/completions zsh/site-functions \
		fish/vendor_completions.d vim/vimfiles)
	install -m 644 docs/man/*.1 $(SHARE)/man/man1
	install -m 644 docs/man/*.5 $(SHARE)/man/man5
	install -m 644 docs/completion/cave.bash $(SHARE)/bash-completion/completions/cavec
	ln -sf cavec $(SHARE)/bash-completion/completions/caverun
	install -m 644 docs/completion/_cave $(SHARE)/zsh/site-functions
	install -m 644 docs/completion/*.fish $(SHARE)/fish/vendor_completions.d
	cp -r grammar/editors/vim/. $(SHARE)/vim/vimfiles

clean:
	rm -rf build

FORCE:
.PHONY: FORCE all unit fuzz fuzz-profile tools check demo bench install clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
