#pragma once

#include <type_traits>
#include <utility>

#include "kusari/cuda/kernels/flash_attention.h"
#include "kusari/cuda/kernels/flash_tiles.cuh"
#include "kusari/cuda/kernels/launch.cuh"

// Host code of the kernels of fused attention.
namespace kusari::cuda {

inline FlashMatrix flash_matrix(const Array& x) {
  const Strides& s = x.strides();
  return {static_cast<uint16_t*>(x.raw_data()), s[0], s[1], s[2], static_cast<int>(x.shape()[3])};
}

/// Whether tiles of a (batch, heads, rows, width) can be copied in pieces of 16 bytes.
inline bool has_flash_rows(const Array& x) {
  if (x.strides()[3] != 1 || !is_pack_aligned(x.raw_data())) return false;
  for (int axis = 0; axis < 3; ++axis) {
    if (x.shape()[axis] > 1 && x.strides()[axis] % 8 != 0) return false;
  }
  return true;
}

/// An array that a kernel reads, or writes: itself or one that has_flash_rows.
inline Array readable_rows(const Array& x) {
  if (has_flash_rows(x)) return x;
  const Array y = empty(x.shape(), x.dtype(), x.device());
  y.copy_from(x);
  return y;
}
inline Array writable_rows(const Array& x) { return has_flash_rows(x) ? x : empty(x.shape(), x.dtype(), x.device()); }

inline FlashCall flash_call(const FlashInputs& in) {
  FlashCall call{};
  call.q = flash_matrix(in.q);
  call.k = flash_matrix(in.k);
  call.v = flash_matrix(in.v);
  call.heads = static_cast<int>(in.q.shape()[1]);
  call.groups = static_cast<int>(in.k.shape()[1]);
  call.queries = static_cast<int>(in.q.shape()[2]);
  call.keys = static_cast<int>(in.k.shape()[2]);
  call.scale = static_cast<float>(in.form.scale);
  call.is_causal = in.form.is_causal;
  call.lengths = in.lengths.is_defined() ? in.lengths.data<int64_t>() : nullptr;
  call.mask.dtype = Dtype::bool_;
  if (in.mask.is_defined()) {
    call.mask.data = in.mask.raw_data();
    call.mask.dtype = in.mask.dtype();
    for (int i = 0; i < 4; ++i) call.mask.strides[i] = in.mask.strides()[i];
  }
  call.dropout = AttentionDropout(in.form.dropout, in.stream.is_defined() ? in.stream.data<int64_t>() : nullptr);
  return call;
}

/// Calls f.template operator()<T, W, kind>(): tiles of W columns.
template <class F>
void visit_flash(const FlashInputs& in, const F& f) {
  const bool is_wide = in.q.shape()[3] > 64 || in.v.shape()[3] > 64;
  const auto with_kind = [&]<class T, int W>() {
    if (in.mask.is_defined()) return f.template operator()<T, W, FlashKind::masked>();
    if (in.form.dropout > 0) return f.template operator()<T, W, FlashKind::dropped>();
    f.template operator()<T, W, FlashKind::plain>();
  };
  const auto with_dtype = [&]<class T>() {
    is_wide ? with_kind.template operator()<T, 128>() : with_kind.template operator()<T, 64>();
  };
  if (in.q.dtype() == Dtype::float16) {
    with_dtype.template operator()<float16>();
  } else {
    with_dtype.template operator()<bfloat16>();
  }
}

inline unsigned flash_blocks(int64_t rows) { return static_cast<unsigned>((rows + kFlashRows - 1) / kFlashRows); }

/// heads: of all sequences.
template <class... Parameters, class... Args>
void enqueue_flash(Context& context, int64_t heads, int64_t rows, int shared, void (*kernel)(Parameters...),
                   Args&&... args) {
  const auto bytes = static_cast<size_t>(shared);
  if (shared > context.facts().shared_per_block) allow_shared(kernel, bytes);
  const LaunchShape shape{dim3(static_cast<unsigned>(heads), flash_blocks(rows)), dim3(kFlashThreads), bytes};
  enqueue(context, shape, kernel, std::forward<Args>(args)...);
}

}  // namespace kusari::cuda
