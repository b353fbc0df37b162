#include "kusari/framework/kernels/normalized_fusion.h"

#include <algorithm>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/normalized_fusion.h"
#include "kusari/framework/cpu/pointwise.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::cpu {
namespace {

using kernels::kMostFusedMaps;

/// Elements whose share of the weights' gradient is one sum.
constexpr int64_t kFusionPart = 32 * kBlock;

/// The maps of a call as ranges of elements, and their shares.
struct FusionCall {
  const char* x[kMostFusedMaps];
  int maps;
  int64_t size, bytes;  // of a map, of an element
  Compute compute;
  BlockReader reader;
  BlockWriter writer;
  FusionLoop loop;
  double w[kMostFusedMaps] = {};
  kernels::FusionShares<double> shares;

  FusionCall(double eps, const Array& x0, const Array& x1, const Array& x2, const Array& weights)
      : x{x0.data<char>(), x1.data<char>(), x2.is_defined() ? x2.data<char>() : nullptr},
        maps{x2.is_defined() ? 3 : 2},
        size{x0.size()},
        bytes{itemsize(x0.dtype())},
        compute{compute_of(x0.dtype())},
        reader{x0.dtype(), bytes, compute},
        writer{x0.dtype(), bytes, compute} {
    const FusionLoops& loops = *KUSARI_LOOPS(isa(), fusion_loops);
    loop = compute == Compute::float64 ? loops.f64 : loops.f32;
    convert_loop(weights.dtype(), Dtype::float64)(weights.raw_data(), w, maps);
    shares = kernels::FusionShares<double>::of(w, maps, eps);
  }
  int64_t parts() const { return (size + kFusionPart - 1) / kFusionPart; }

  /// Calls body(part, first element, elements, the maps' elements) for the blocks of the parts in their order.
  template <class Body>
  void for_each_block(const Body& body) const {
    parallel_for(parts(), kThreadChunk / kFusionPart, [&](int64_t begin, int64_t end) {
      alignas(64) char buffers[kMostFusedMaps][kBlockBytes];
      for (int64_t at = begin * kFusionPart; at < std::min(size, end * kFusionPart); at += kBlock) {
        const int64_t n = std::min(kBlock, size - at);
        const void* in[kMostFusedMaps] = {};
        for (int k = 0; k < maps; ++k) in[k] = reader.read(x[k] + at * bytes, n, buffers[k]);
        body(at / kFusionPart, at, n, in);
      }
    });
  }
};

void normalized_fusion_silu(Params<double> eps, In x0, In x1, In x2, In w, Out y) {
  const FusionCall call(*eps, x0, x1, x2, w);
  const PointwiseLoop silu = loop_of(pointwise_loops<kernels::Silu>, call.compute);
  call.for_each_block([&](int64_t, int64_t at, int64_t n, const void* const* in) {
    alignas(64) char buffer[kBlockBytes];
    char* const to = y->data<char>() + at * call.bytes;
    void* const sum = call.writer.is_direct() ? to : buffer;
    call.loop.weigh(in, call.maps, call.shares.share, sum, n);
    const void* const from[] = {sum};
    const kernels::Silu op;
    silu(&op, from, sum, n);
    if (sum != to) call.writer.write(sum, n, to);
  });
}

void normalized_fusion_silu_grad(Params<double> eps, In x0, In x1, In x2, In w, In gy, Out gx0, Out gx1, Out gx2,
                                 Out gw) {
  const FusionCall call(*eps, x0, x1, x2, w);
  const int maps = call.maps;
  const Array* const gx[] = {&*gx0, &*gx1, &*gx2};
  const PointwiseLoop silu_grad = loop_of(pointwise_loops<kernels::SiluGrad>, call.compute);
  const Scratch<double> sums(call.parts() * maps);
  std::fill_n(sums.get(), call.parts() * maps, 0.0);
  call.for_each_block([&](int64_t part, int64_t at, int64_t n, const void* const* in) {
    alignas(64) char given[kBlockBytes], g[kBlockBytes], results[kMostFusedMaps][kBlockBytes];
    call.loop.weigh(in, maps, call.shares.share, g, n);
    const void* const from[] = {g, call.reader.read(gy->data<char>() + at * call.bytes, n, given)};
    const kernels::SiluGrad op;
    silu_grad(&op, from, g, n);
    char* to[kMostFusedMaps] = {};
    void* out[kMostFusedMaps] = {};
    for (int k = 0; k < maps; ++k) {
      if (!gx[k]->is_defined()) continue;
      to[k] = gx[k]->data<char>() + at * call.bytes;
      out[k] = call.writer.is_direct() ? to[k] : results[k];
    }
    call.loop.spread(in, maps, call.shares.share, g, out, sums.get() + part * maps, n);
    for (int k = 0; k < maps; ++k) {
      if (out[k] != to[k]) call.writer.write(out[k], n, to[k]);
    }
  });
  if (!gw) return;
  double gshare[kMostFusedMaps] = {}, result[kMostFusedMaps];
  for (int64_t i = 0; i < call.parts() * maps; ++i) gshare[i % maps] += sums.get()[i];
  call.shares.weight_gradients(call.w, maps, gshare, result);
  convert_loop(Dtype::float64, gw->dtype())(result, gw->raw_data(), maps);
}

}  // namespace

void register_normalized_fusion(Backend& backend) {
  backend.add<kernels::NormalizedFusionSilu>(normalized_fusion_silu);
  backend.add<kernels::NormalizedFusionSiluGrad>(normalized_fusion_silu_grad);
}

}  // namespace kusari::cpu
