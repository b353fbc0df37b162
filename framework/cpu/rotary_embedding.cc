#include "kusari/framework/kernels/rotary_embedding.h"

#include <algorithm>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/rotary_embedding.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"
#include "kusari/framework/kernels/strided.h"

namespace kusari::cpu {
namespace {

/// The first element of each row.
Array beginnings(const Array& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.pop_back();
  strides.pop_back();
  return x.as_strided(shape, strides);
}

template <class T>
void turn_rows(RotaryLoop turn, double sign, const Array& x, const Array& table, const Array& y) {
  const int64_t n = y.shape(-1), half = n / 2;
  const Array from = beginnings(x), to = beginnings(y), angles = table.as_strided({table.shape()[0]}, {n});
  const Array* const operands[] = {&from, &angles, &to};
  const StridedLoop rows(operands);
  const bool direct = y.dtype() == dtype_of<T>;
  const ConvertLoop widen = direct ? nullptr : convert_loop(y.dtype(), dtype_of<T>);
  const ConvertLoop narrow = direct ? nullptr : convert_loop(dtype_of<T>, y.dtype());
  const int64_t size = rows.row_size();
  parallel_for(rows.rows() * size, std::max<int64_t>(1, kThreadChunk / n), [&](int64_t begin, int64_t end) {
    const Scratch<T> buffer(direct ? 0 : 2 * n);
    StridedLoop::Cursor at(rows, begin / size);
    for (int64_t i = begin, j = begin % size; i < end; ++i) {
      const void* in = at[0] + j * rows.row_stride(0);
      const T* const cosine = reinterpret_cast<const T*>(at[1] + j * rows.row_stride(1));
      void* const out = at[2] + j * rows.row_stride(2);
      if (!direct) {
        widen(in, buffer.get(), n);
        in = buffer.get();
      }
      T* const result = direct ? static_cast<T*>(out) : buffer.get() + n;
      turn(in, cosine, cosine + half, sign, result, half);
      if (!direct) narrow(result, out, n);
      if (++j == size) {
        j = 0;
        at.next();
      }
    }
  });
}

void rotary_embedding(Params<kernels::RotaryForm> form, In x, In table, Out y) {
  if (y->size() == 0) return;
  const RotaryLoops& loops = *KUSARI_LOOPS(isa(), rotary_loops);
  const Array in = x->strides()[x->ndim() - 1] == 1 ? *x : x->contiguous();
  const double sign = form->inverse ? -1 : 1;
  if (y->dtype() == Dtype::float64) {
    turn_rows<double>(form->interleaved ? loops.neighbours_f64 : loops.halves_f64, sign, in, table, y);
  } else {
    turn_rows<float>(form->interleaved ? loops.neighbours_f32 : loops.halves_f32, sign, in, table, y);
  }
}

}  // namespace

void register_rotary_embedding(Backend& backend) { backend.add<kernels::RotaryEmbedding>(rotary_embedding); }

}  // namespace kusari::cpu
