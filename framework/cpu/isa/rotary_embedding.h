#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Turns `half` pairs of one row, (a, b) to (a cosine - b sign sine, a sign sine + b cosine). All of the loop's type.
using RotaryLoop = void (*)(const void* x, const void* cosine, const void* sine, double sign, void* y, i64 half);

/// The halves of a row as pairs, or neighbours.
struct RotaryLoops {
  RotaryLoop halves_f32, halves_f64, neighbours_f32, neighbours_f64;
};

KUSARI_DECLARE_LOOPS(RotaryLoops, rotary_loops)

}  // namespace kusari::cpu
