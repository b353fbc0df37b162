#include <cstring>
#include <span>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/plans/chunk_tables.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPacksInFlight = 2;  // of each array and thread

__device__ __forceinline__ bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

/// The members of a functor from their float64 numbers in device memory.
template <class Op>
__device__ __forceinline__ Op read_functor(const double* numbers) {
  constexpr int kMembers = sizeof(Op) / sizeof(double);
  double members[kMembers];
#pragma unroll
  for (int i = 0; i < kMembers; ++i) members[i] = numbers[i];
  Op op;
  memcpy(&op, members, sizeof(op));
  return op;
}

/// op(g, p, states...) for one element.
template <class Op, class C>
__device__ __forceinline__ void step_element(const Op& op, C g, C (&x)[1 + Op::kStates]) {
  if constexpr (Op::kStates == 0) {
    op(g, x[0]);
  } else if constexpr (Op::kStates == 1) {
    op(g, x[0], x[1]);
  } else if constexpr (Op::kStates == 2) {
    op(g, x[0], x[1], x[2]);
  } else {
    op(g, x[0], x[1], x[2], x[3]);
  }
}

/// An element of one of the 16-bit dtypes; which one is known when the kernel runs.
struct AnyHalf {
  uint16_t bits;
};

/// The 16-bit dtypes beside float32 arrays: that of gradients (AnyHalf) and that of the copies, which are a table's
/// last array.
struct HalfTypes {
  bool gradients_are_bfloat16;
  bool copies_are_bfloat16;

  __device__ __forceinline__ float gradient(AnyHalf g) const {
    float16 half;
    bfloat16 brain;
    half.bits = brain.bits = g.bits;
    return gradients_are_bfloat16 ? widen(brain) : widen(half);
  }
  template <class G>
  __device__ __forceinline__ Compute<G> gradient(G g) const {
    return widen(g);
  }

  template <int kPack>
  __device__ __forceinline__ void store_copies(void* to, int64_t at, const Pack<float, kPack>& values) const {
    if (copies_are_bfloat16) {
      store_pack(static_cast<bfloat16*>(to), at, narrowed<bfloat16>(values));
    } else {
      store_pack(static_cast<float16*>(to), at, narrowed<float16>(values));
    }
  }

 private:
  template <class T, int kPack>
  __device__ __forceinline__ static Pack<T, kPack> narrowed(const Pack<float, kPack>& values) {
    Pack<T, kPack> pack;
#pragma unroll
    for (int i = 0; i < kPack; ++i) pack.at[i] = narrow<T>(values.at[i]);
    return pack;
  }
};

/// G: of gradients, T: of what is changed. The tables have a row of copies if kCopies, which may be null.
template <class Op, class G, class T, bool kCopies>
__global__ __launch_bounds__(kThreads) void step_kernel(
    const __grid_constant__ ChunkTable<2 + Op::kStates + (kCopies ? 1 : 0)> table, const double* numbers, int64_t row,
    const double* guard, const double* loss_scale, HalfTypes halves) {
  using C = Compute<T>;
  constexpr int kPack = kPackSize<T>, kWritten = 1 + Op::kStates;
  if (guard != nullptr && !km::isfinite(*guard)) return;
  const Chunk chunk = find_chunk(table, blockIdx.x);
  const Op op = read_functor<Op>(numbers + table.index[chunk.tensor] * row);
  if constexpr (requires { op.is_identity(); }) {
    if (op.is_identity()) return;
  }
  const C rate = loss_scale != nullptr ? static_cast<C>(1 / *loss_scale) : C(1);
  const G* const g = static_cast<const G*>(table.data[0][chunk.tensor]) + chunk.begin;
  T* x[kWritten];
  bool aligned = is_aligned(g);
#pragma unroll
  for (int k = 0; k < kWritten; ++k) {
    x[k] = static_cast<T*>(table.data[1 + k][chunk.tensor]) + chunk.begin;
    aligned = aligned && is_aligned(x[k]);
  }
  uint16_t* copy = nullptr;
  if constexpr (kCopies) {
    copy = static_cast<uint16_t*>(table.data[1 + kWritten][chunk.tensor]);
    if (copy != nullptr) copy += chunk.begin;
    aligned = aligned && is_aligned(copy);
  }
  const int n = static_cast<int>(chunk.count), packs = aligned ? n / kPack : 0;
  for (int first = static_cast<int>(threadIdx.x); first < packs; first += kPacksInFlight * kThreads) {
    Pack<G, kPack> from[kPacksInFlight];
    Pack<T, kPack> to[kWritten][kPacksInFlight];
#pragma unroll
    for (int u = 0; u < kPacksInFlight; ++u) {
      const int at = first + u * kThreads;
      if (at >= packs) break;
      from[u] = load_pack<kPack>(g, at);
#pragma unroll
      for (int k = 0; k < kWritten; ++k) to[k][u] = load_pack<kPack>(x[k], at);
    }
#pragma unroll
    for (int u = 0; u < kPacksInFlight; ++u) {
      const int at = first + u * kThreads;
      if (at >= packs) break;
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        C values[kWritten];
#pragma unroll
        for (int k = 0; k < kWritten; ++k) values[k] = widen(to[k][u].at[i]);
        step_element(op, halves.gradient(from[u].at[i]) * rate, values);
#pragma unroll
        for (int k = 0; k < kWritten; ++k) to[k][u].at[i] = narrow<T>(values[k]);
      }
#pragma unroll
      for (int k = 0; k < kWritten; ++k) store_pack(x[k], at, to[k][u]);
      if constexpr (kCopies) {
        if (copy != nullptr) halves.store_copies(copy, at, to[0][u]);
      }
    }
  }
  for (int i = packs * kPack + static_cast<int>(threadIdx.x); i < n; i += kThreads) {
    C values[kWritten];
#pragma unroll
    for (int k = 0; k < kWritten; ++k) values[k] = widen(x[k][i]);
    step_element(op, halves.gradient(g[i]) * rate, values);
#pragma unroll
    for (int k = 0; k < kWritten; ++k) x[k][i] = narrow<T>(values[k]);
    if constexpr (kCopies) {
      if (copy != nullptr) halves.store_copies(copy, i, Pack<float, 1>{{values[0]}});
    }
  }
}

template <class Schedule>
__global__ __launch_bounds__(kWarp) void step_numbers_kernel(const double* schedule, const double* skipped,
                                                             double* numbers) {
  if (threadIdx.x != 0) return;
  constexpr int kMembers = sizeof(Schedule) / sizeof(double);
  const auto step = read_functor<Schedule>(schedule)(schedule[kMembers] - *skipped);
  memcpy(numbers, &step, sizeof(step));
}

__global__ __launch_bounds__(kWarp) void loss_scale_kernel(const double* squared_norm, kernels::LossScaleRule rule,
                                                           double* state) {
  if (threadIdx.x != 0) return;
  const kernels::LossScaleState next = rule(read_functor<kernels::LossScaleState>(state), *squared_norm);
  memcpy(state, &next, sizeof(next));
}

template <class To, class From>
__device__ __forceinline__ To converted(From x, Compute<To> factor) {
  const To y = narrow<To>(widen(x));
  return factor == 1 ? y : narrow<To>(widen(y) * factor);
}

template <class From, class To>
__global__ __launch_bounds__(kThreads) void convert_kernel(const __grid_constant__ ChunkTable<2> table,
                                                           double host_factor, const double* loss_scale) {
  const auto factor = static_cast<Compute<To>>(loss_scale != nullptr ? host_factor / *loss_scale : host_factor);
  constexpr int kPack = kPackSize<From> < kPackSize<To> ? kPackSize<From> : kPackSize<To>;
  const Chunk chunk = find_chunk(table, blockIdx.x);
  const From* const from = static_cast<const From*>(table.data[0][chunk.tensor]) + chunk.begin;
  To* const to = static_cast<To*>(table.data[1][chunk.tensor]) + chunk.begin;
  const int n = static_cast<int>(chunk.count), packs = is_aligned(from) && is_aligned(to) ? n / kPack : 0;
#pragma unroll 4
  for (int at = static_cast<int>(threadIdx.x); at < packs; at += kThreads) {
    const Pack<From, kPack> read = load_pack<kPack>(from, at);
    Pack<To, kPack> written;
#pragma unroll
    for (int i = 0; i < kPack; ++i) written.at[i] = converted<To>(read.at[i], factor);
    store_pack(to, at, written);
  }
  for (int i = packs * kPack + static_cast<int>(threadIdx.x); i < n; i += kThreads)
    to[i] = converted<To>(from[i], factor);
}

/// Each block's sum of squares to partial[blockIdx.x].
template <class T>
__global__ __launch_bounds__(kThreads) void square_chunks_kernel(const __grid_constant__ ChunkTable<1> table,
                                                                 double* partial) {
  constexpr int kPack = kPackSize<T>;
  const Chunk chunk = find_chunk(table, blockIdx.x);
  const T* const x = static_cast<const T*>(table.data[0][chunk.tensor]) + chunk.begin;
  const int n = static_cast<int>(chunk.count), packs = is_aligned(x) ? n / kPack : 0;
  double sum = 0;
#pragma unroll 4
  for (int at = static_cast<int>(threadIdx.x); at < packs; at += kThreads) {
    const Pack<T, kPack> pack = load_pack<kPack>(x, at);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const double value = static_cast<double>(widen(pack.at[i]));
      sum += value * value;
    }
  }
  for (int i = packs * kPack + static_cast<int>(threadIdx.x); i < n; i += kThreads) {
    const double value = static_cast<double>(widen(x[i]));
    sum += value * value;
  }
  sum = block_reduce(sum, 0.0, Plus<double>{});
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__device__ __forceinline__ void sum_range(const double* partial, int64_t n, double* to) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += partial[i];
  sum = block_reduce(sum, 0.0, Plus<double>{});
  if (threadIdx.x == 0) *to = sum;
}

__global__ __launch_bounds__(kThreads) void sum_all_kernel(const double* partial, int64_t n, double* y) {
  sum_range(partial, n, y);
}

/// A block for each tensor of the table, whose chunks have left their sums in `partial`.
__global__ __launch_bounds__(kThreads) void sum_tensors_kernel(const __grid_constant__ ChunkTable<1> table,
                                                               const double* partial, double* y) {
  const auto tensor = static_cast<int>(blockIdx.x);
  const uint32_t first = tensor == 0 ? 0 : table.end[tensor - 1];
  sum_range(partial + first, table.end[tensor] - first, y + table.index[tensor]);
}

__global__ __launch_bounds__(kWarp) void clipping_numbers_kernel(const double* squared_norm, kernels::ClippingRate rate,
                                                                 double* numbers) {
  if (threadIdx.x == 0) *numbers = rate(*squared_norm);
}

__global__ __launch_bounds__(kThreads) void lars_numbers_kernel(const double* parameters, const double* gradients,
                                                                kernels::LarsRate rate, int64_t n, double* numbers) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const kernels::LarsHook hook{rate.weight_decay, rate(parameters[i], gradients[i])};
  memcpy(numbers + 2 * i, &hook, sizeof(hook));
}

template <class Rule>
__global__ __launch_bounds__(kThreads) void layer_numbers_kernel(const double* numbers, const double* parameters,
                                                                 const double* others, const double* loss_scale,
                                                                 int64_t n, double* rows) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Rule rule;
  memcpy(&rule, numbers, sizeof(rule));
  const double scale = loss_scale != nullptr ? *loss_scale : 1;
  const typename Rule::Step step = rule(parameters[i], others[i] / (scale * scale));
  memcpy(rows + static_cast<int64_t>(sizeof(step) / sizeof(double)) * i, &step, sizeof(step));
}

void require_floating(const char* call, Dtype dtype) {
  if (!is_floating(dtype)) {
    throw TypeError(std::string(call) + ": the tensors have dtype " + name(dtype) + ": it must be floating");
  }
}

template <int kArrays>
using StepKernel = void (*)(ChunkTable<kArrays> table, const double* numbers, int64_t row, const double* guard,
                            const double* loss_scale, HalfTypes halves);

/// The kernels of a functor, by the dtypes of the gradients and of what it changes.
template <int kStates>
struct StepKernels {
  StepKernel<2 + kStates> float16, bfloat16, float32, float64;  ///< both the same, without copies
  StepKernel<3 + kStates> float32_copied;
  StepKernel<3 + kStates> mixed;  ///< of a 16-bit dtype and float32

  StepKernel<2 + kStates> of(Dtype dtype) const {
    switch (dtype) {
      case Dtype::float16:
        return float16;
      case Dtype::bfloat16:
        return bfloat16;
      case Dtype::float32:
        return float32;
      default:
        return float64;
    }
  }
};

/// What the arguments of an OptimizerStep hold.
struct StepArrays {
  const double* numbers;
  int64_t row;
  const double* guard;
  const double* loss_scale;
  std::span<const Array> read, written, copies;
};

template <int kArrays>
void enqueue_steps(StepKernel<kArrays> kernel, const StepArrays& arrays) {
  const std::span<const Array> read = arrays.read;
  Context& context = Context::of(read[0]);
  const HalfTypes halves{read[0].dtype() == Dtype::bfloat16,
                         !arrays.copies.empty() && arrays.copies[0].dtype() == Dtype::bfloat16};
  const auto data = [&](int k, size_t i) -> void* {
    if (k == 0) return read[i].raw_data();
    const size_t place = static_cast<size_t>(k - 1) * read.size() + i;
    if (place < arrays.written.size()) return arrays.written[place].raw_data();
    return arrays.copies.empty() ? nullptr : arrays.copies[i].raw_data();
  };
  for_each_table<kArrays>(read, read[0].dtype(), data, [&](const ChunkTable<kArrays>& table) {
    if (table.chunks() == 0) return;
    enqueue(context, {dim3(table.chunks()), dim3(kThreads)}, kernel, table, arrays.numbers, arrays.row, arrays.guard,
            arrays.loss_scale, halves);
  });
}

template <int kStates>
void run_step(const char* name_of_step, const StepKernels<kStates>& kernels, const StepArrays& arrays) {
  if (arrays.read.empty()) return;
  const std::span<const Array> beside = arrays.copies;
  const Dtype source = arrays.read[0].dtype(), target = arrays.written[0].dtype();
  const bool is_mixed = is_half(source) && target == Dtype::float32;
  if (!is_floating(target) || (source != target && !is_mixed)) {
    throw TypeError(std::string(name_of_step) + ": gradients have dtype " + name(source) +
                    " and what they change has " + name(target) +
                    ": they must be floating and equal, or 16-bit and float32");
  }
  if (!beside.empty() && !(target == Dtype::float32 && is_half(beside[0].dtype()))) {
    throw TypeError(std::string(name_of_step) + ": copies of dtype " + name(beside[0].dtype()) +
                    " of arrays of dtype " + name(target) + ": they must be 16-bit ones of float32");
  }
  if (is_mixed) {
    enqueue_steps<3 + kStates>(kernels.mixed, arrays);
  } else if (!beside.empty()) {
    enqueue_steps<3 + kStates>(kernels.float32_copied, arrays);
  } else {
    enqueue_steps<2 + kStates>(kernels.of(target), arrays);
  }
}

template <class Op>
void step(DeviceScalar numbers, In guard, In loss_scale, InList read, InOutList arrays, InOutList copies) {
  static constexpr StepKernels<Op::kStates> kKernels = {
      .float16 = &step_kernel<Op, float16, float16, false>,
      .bfloat16 = &step_kernel<Op, bfloat16, bfloat16, false>,
      .float32 = &step_kernel<Op, float, float, false>,
      .float64 = &step_kernel<Op, double, double, false>,
      .float32_copied = &step_kernel<Op, float, float, true>,
      .mixed = &step_kernel<Op, AnyHalf, float, true>,
  };
  const auto element = [](const Array& array) { return array.is_defined() ? array.data<double>() : nullptr; };
  run_step<Op::kStates>(Op::kName, kKernels,
                        {numbers->data<double>(), numbers->ndim() == 2 ? numbers->shape()[1] : 0, element(guard),
                         element(loss_scale), read.arrays(), arrays.arrays(), copies.arrays()});
}

template <class Schedule>
void step_numbers(DeviceScalar schedule, In skipped, Out numbers) {
  enqueue(Context::of(*numbers), {dim3(1), dim3(kWarp)}, step_numbers_kernel<Schedule>, schedule->data<double>(),
          skipped->data<double>(), numbers->data<double>());
}

void loss_scale_update(In squared_norm, Params<kernels::LossScaleRule> rule, InOut state) {
  enqueue(Context::of(*state), {dim3(1), dim3(kWarp)}, loss_scale_kernel, squared_norm->data<double>(), *rule,
          state->data<double>());
}

void convert_tensors(Params<double> factor, In loss_scale, InList from, InOutList to) {
  const std::span<const Array> read = from.arrays(), written = to.arrays();
  if (read.empty()) return;
  const Dtype source = read[0].dtype(), target = written[0].dtype();
  require_floating("convert_tensors", source);
  require_floating("convert_tensors", target);
  Context& context = Context::of(read[0]);
  const double* const scale = loss_scale ? loss_scale->data<double>() : nullptr;
  const auto data = [&](int k, size_t i) { return (k == 0 ? read : written)[i].raw_data(); };
  visit_floating(source, [&]<class From>() {
    visit_floating(target, [&]<class To>() {
      for_each_table<2>(read, source, data, [&](const ChunkTable<2>& table) {
        if (table.chunks() == 0) return;
        enqueue(context, {dim3(table.chunks()), dim3(kThreads)}, convert_kernel<From, To>, table, *factor, scale);
      });
    });
  });
}

void squared_norm(InList x, Out y) {
  const std::span<const Array> tensors = x.arrays();
  Context& context = Context::of(*y);
  int64_t chunks = 0;
  bool is_present[kDtypeCount] = {};
  for (const Array& tensor : tensors) {
    require_floating("squared_norm", tensor.dtype());
    chunks += chunks_of(tensor.size());
    is_present[static_cast<size_t>(tensor.dtype())] = true;
  }
  const Scratch scratch(context, static_cast<size_t>(chunks + 1) * sizeof(double));
  double* const to = y->data<double>();
  const bool in_one = y->size() == 1;
  double* partial = scratch.data<double>();
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    if (!is_present[static_cast<size_t>(dtype)]) continue;
    const auto data = [&](int, size_t i) { return tensors[i].raw_data(); };
    visit_floating(dtype, [&]<class T>() {
      for_each_table<1>(tensors, dtype, data, [&](const ChunkTable<1>& table) {
        if (table.chunks() > 0) {
          enqueue(context, {dim3(table.chunks()), dim3(kThreads)}, square_chunks_kernel<T>, table, partial);
        }
        if (!in_one) {
          enqueue(context, {dim3(static_cast<unsigned>(table.count)), dim3(kThreads)}, sum_tensors_kernel, table,
                  partial, to);
        }
        partial += table.chunks();
      });
    });
  }
  if (in_one) enqueue(context, {dim3(1), dim3(kThreads)}, sum_all_kernel, scratch.data<double>(), chunks, to);
}

void gradient_clipping_numbers(In squared_norm, Params<kernels::ClippingRate> rate, Out numbers) {
  enqueue(Context::of(*numbers), {dim3(1), dim3(kWarp)}, clipping_numbers_kernel, squared_norm->data<double>(), *rate,
          numbers->data<double>());
}

void gradient_lars_numbers(In parameters, In gradients, Params<kernels::LarsRate> rate, Out numbers) {
  const int64_t n = parameters->size();
  if (n == 0) return;
  enqueue(Context::of(*numbers), {dim3(blocks_for(n, kThreads)), dim3(kThreads)}, lars_numbers_kernel,
          parameters->data<double>(), gradients->data<double>(), *rate, n, numbers->data<double>());
}

template <class Rule>
void layer_numbers(DeviceScalar numbers, In parameters, In others, In loss_scale, Out rows) {
  const int64_t n = parameters->size();
  if (n == 0) return;
  enqueue(Context::of(*rows), {dim3(blocks_for(n, kThreads)), dim3(kThreads)}, layer_numbers_kernel<Rule>,
          numbers->data<double>(), parameters->data<double>(), others->data<double>(),
          loss_scale ? loss_scale->data<double>() : nullptr, n, rows->data<double>());
}

}  // namespace

void register_optimizer(Backend& backend) {
#define KUSARI_ADD_STEP(Op) backend.add<kernels::OptimizerStep<kernels::Op>>(step<kernels::Op>);
  KUSARI_OPTIMIZER_STEPS(KUSARI_ADD_STEP)
#undef KUSARI_ADD_STEP
#define KUSARI_ADD_NUMBERS(Schedule) \
  backend.add<kernels::StepNumbers<kernels::Schedule>>(step_numbers<kernels::Schedule>);
  KUSARI_STEP_SCHEDULES(KUSARI_ADD_NUMBERS)
#undef KUSARI_ADD_NUMBERS
#define KUSARI_ADD_RULE(Rule) backend.add<kernels::LayerNumbers<kernels::Rule>>(layer_numbers<kernels::Rule>);
  KUSARI_LAYER_RULES(KUSARI_ADD_RULE)
#undef KUSARI_ADD_RULE
  backend.add<kernels::LossScaleUpdate>(loss_scale_update);
  backend.add<kernels::ConvertTensors>(convert_tensors);
  backend.add<kernels::SquaredNorm>(squared_norm);
  backend.add<kernels::GradientClippingNumbers>(gradient_clipping_numbers);
  backend.add<kernels::GradientLarsNumbers>(gradient_lars_numbers);
}

}  // namespace kusari::cuda
