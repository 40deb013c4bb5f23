# Thin: names for what people do most. The build itself is CMake; see CMakePresets.json.
# Each target first brings the packages it needs (tools/install-deps), or says which are missing.
SHELL := /bin/bash
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
export FUZZ_SECONDS
.DEFAULT_GOAL := all
.PHONY: all help demo test test-all bench install deb format clean

all: ## build the command at build/shoal
	@tools/install-deps build
	@tools/build dev shoal_command shoal_shared
	@ln -sfn dev/shoal build/shoal

demo: all ## show what Shoal does
	@exec tools/demo build/shoal

test: ## build, then run every test that is quick enough to run often
	@tools/install-deps test
	@tools/build --configure dev all
	@ln -sfn dev/shoal build/shoal
	@tools/run-tests dev

test-all: ## sanitizers, fuzzing, long seeds, static analysis, packages: everything slow
	@tools/install-deps all
	@tools/test-all

bench: all ## measure, and write bench/RESULTS.md
	@tools/install-deps bench
	@tools/build dev bench_programs
	@exec bench/run build/shoal

install: ## install under PREFIX (default /usr/local), below DESTDIR if given
	@tools/install-deps build
	@tools/build dev shoal_command shoal_shared generated
	@DESTDIR="$(DESTDIR)" cmake --install build/dev --prefix "$(PREFIX)" --strip

deb: ## Debian packages in build/deb
	@tools/install-deps deb
	@tools/make-deb

format: ## rewrite all C in the project's format
	@tools/install-deps test
	@tools/format

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## /make \1\t/p' Makefile | expand -t 16
