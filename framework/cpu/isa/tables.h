#pragma once

/// Declares `const Table* function();` once for each instruction set that framework/cpu/isa is compiled for;
/// KUSARI_LOOPS (isa.h) chooses among them. Inside of namespace kusari::cpu.
#define KUSARI_DECLARE_LOOPS(Table, function) \
  namespace v1 {                              \
  const Table* function();                    \
  }                                           \
  namespace v3 {                              \
  const Table* function();                    \
  }                                           \
  namespace v4 {                              \
  const Table* function();                    \
  }
