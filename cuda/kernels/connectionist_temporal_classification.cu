#include "kusari/framework/kernels/connectionist_temporal_classification.h"

#include <algorithm>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cuda {
namespace {

constexpr int kMostStateThreads = 512;
constexpr int kSymbolBlock = 256;

/// The arrays of a call. Labels with blanks around them are the states of a sequence: blank, label, blank, ..., blank.
template <class T>
struct Alignment {
  int64_t frames, batch, symbols, labels, blank;
  const T* log_p;  // (frames, batch, symbols)
  const int64_t *t, *input_length, *label_length;
  double* posterior;  // (batch, frames, states); first the probabilities of the ways to each state
  double* rows;       // (batch, 2, states)
  T* loss;

  __device__ __forceinline__ int64_t states() const { return 2 * labels + 1; }
  __device__ __forceinline__ int64_t symbol(int64_t b, int64_t s) const {
    return s % 2 == 0 ? blank : t[b * labels + s / 2];
  }
  __device__ __forceinline__ double emission(int64_t b, int64_t frame, int64_t s) const {
    return static_cast<double>(log_p[(frame * batch + b) * symbols + symbol(b, s)]);
  }
  __device__ __forceinline__ double* ways(int64_t b, int64_t frame) const {
    return posterior + (b * frames + frame) * states();
  }
  /// Whether state s may follow s - 2.
  __device__ __forceinline__ bool may_skip(int64_t b, int64_t s) const {
    return s % 2 == 1 && s >= 3 && symbol(b, s) != symbol(b, s - 2);
  }
};

constexpr double kNever = -km::Real<double>::kInfinity;

/// log(exp(a) + exp(b) + exp(c)).
__device__ __forceinline__ double log_sum(double a, double b, double c) {
  const double larger = a < b ? b : a, top = larger < c ? c : larger;
  const double shift = km::isinf(top) ? 0 : top;  // inf - inf is not a number
  return shift + km::log(km::exp(a - shift) + km::exp(b - shift) + km::exp(c - shift));
}

/// Forwards and backwards through the frames of a sequence, one for each block.
template <class T>
__global__ void __launch_bounds__(kMostStateThreads) align_states(Alignment<T> call, bool needs_posterior) {
  const int64_t b = blockIdx.x, first = threadIdx.x, step = blockDim.x;
  const int64_t used = call.input_length[b], labels = call.label_length[b];
  // What the CPU refuses.
  int is_wrong = used < 0 || used > call.frames || labels < 0 || labels > call.labels;
  for (int64_t i = first; is_wrong == 0 && i < labels; i += step) {
    const int64_t label = call.t[b * call.labels + i];
    is_wrong = label < 0 || label >= call.symbols;
  }
  if (__syncthreads_or(is_wrong) != 0) {
    if (first == 0) call.loss[b] = km::Real<T>::kNan;
    return;
  }
  const int64_t states = 2 * labels + 1;
  double total = states == 1 ? 0 : kNever;
  for (int64_t frame = 0; frame < used; ++frame) {
    double* const ways = call.ways(b, frame);
    const double* const last = frame == 0 ? nullptr : call.ways(b, frame - 1);
    for (int64_t s = first; s < states; s += step) {
      const auto from = [&](int64_t state) {
        if (state < 0) return kNever;
        if (last == nullptr) return state == 0 ? 0.0 : kNever;
        return last[state] + call.emission(b, frame - 1, state);
      };
      ways[s] = log_sum(from(s), from(s - 1), call.may_skip(b, s) ? from(s - 2) : kNever);
    }
    __syncthreads();
  }
  if (used > 0) {
    const double* const last = call.ways(b, used - 1);
    const auto at_end = [&](int64_t s) { return s < 0 ? kNever : last[s] + call.emission(b, used - 1, s); };
    total = log_sum(at_end(states - 1), at_end(states - 2), kNever);
  }
  if (first == 0) call.loss[b] = static_cast<T>(-total);
  if (!needs_posterior || total == kNever) return;
  double* const rows = call.rows + b * 2 * call.states();
  for (int64_t frame = used - 1; frame >= 0; --frame) {
    double* const ways = call.ways(b, frame);
    double* const now = rows + frame % 2 * call.states();
    const double* const after = rows + (frame + 1) % 2 * call.states();
    __syncthreads();  // the ways to the last states have been read
    for (int64_t s = first; s < states; s += step) {
      const auto from = [&](int64_t state) { return state < states ? after[state] : kNever; };
      double onward = s >= states - 2 ? 0 : kNever;
      if (frame < used - 1) {
        onward = log_sum(from(s), from(s + 1), s + 2 < states && call.may_skip(b, s + 2) ? from(s + 2) : kNever);
      }
      now[s] = onward + call.emission(b, frame, s);
      ways[s] = km::exp(ways[s] + now[s] - total);
    }
  }
}

/// p[t, b, symbol] -= the probabilities of the states of the symbol; a block for each frame of each sequence.
template <class T>
__global__ void __launch_bounds__(kSymbolBlock) subtract_states(Alignment<T> call, T* p) {
  const int64_t b = blockIdx.x % call.batch, frame = blockIdx.x / call.batch;
  T* const to = p + blockIdx.x * call.symbols;
  const T loss = call.loss[b];
  if (loss != loss || km::isinf(loss) || frame >= call.input_length[b]) {
    const T value = loss != loss ? loss : T(0);
    for (int64_t v = threadIdx.x; v < call.symbols; v += kSymbolBlock) to[v] = value;
    return;
  }
  const double* const posterior = call.ways(b, frame);
  const int64_t labels = call.label_length[b], states = 2 * labels + 1;
  double own = 0;
  for (int64_t s = threadIdx.x; s < states; s += kSymbolBlock) {
    if (call.symbol(b, s) == call.blank) own += posterior[s];
  }
  const double of_blank = block_reduce(own, 0.0, Plus<double>{});
  if (threadIdx.x == 0) to[call.blank] = static_cast<T>(static_cast<double>(to[call.blank]) - of_blank);
  for (int64_t i = threadIdx.x; i < labels; i += kSymbolBlock) {
    const int64_t label = call.t[b * call.labels + i];
    if (label == call.blank) continue;
    double sum = 0;
    bool is_first = true;
    for (int64_t j = 0; j < labels; ++j) {
      if (call.t[b * call.labels + j] != label) continue;
      is_first = is_first && j >= i;
      sum += posterior[2 * j + 1];
    }
    if (is_first) to[label] = static_cast<T>(static_cast<double>(to[label]) - sum);
  }
}

template <class T>
void align(int64_t blank, const Array& log_p, const Array& t, const Array& input_length, const Array& label_length,
           const Array& loss, const Array& p) {
  const Shape& shape = log_p.shape();
  Alignment<T> call{};
  call.frames = shape[0];
  call.batch = shape[1];
  call.symbols = shape[2];
  call.labels = t.shape()[1];
  call.blank = blank;
  if (call.batch == 0) return;
  Context& context = Context::of(log_p);
  const int64_t states = 2 * call.labels + 1;
  const Scratch scratch(context, static_cast<size_t>((call.frames + 2) * call.batch * states) * sizeof(double));
  call.log_p = log_p.data<T>();
  call.t = t.data<int64_t>();
  call.input_length = input_length.data<int64_t>();
  call.label_length = label_length.data<int64_t>();
  call.rows = scratch.data<double>();
  call.posterior = call.rows + 2 * call.batch * states;
  call.loss = loss.data<T>();
  const int64_t threads = std::clamp<int64_t>((states + kWarp - 1) / kWarp * kWarp, kWarp, kMostStateThreads);
  enqueue(context, {dim3(static_cast<unsigned>(call.batch)), dim3(static_cast<unsigned>(threads))}, align_states<T>,
          call, p.is_defined());
  if (!p.is_defined() || p.size() == 0) return;
  enqueue(context, {dim3(static_cast<unsigned>(call.frames * call.batch)), dim3(kSymbolBlock)}, subtract_states<T>,
          call, p.data<T>());
}

void connectionist_temporal_classification(Params<kernels::LabelAlignment> alignment, In log_p, In t, In input_length,
                                           In label_length, Out loss, InOut p) {
  const auto integers = [](const Array& x) { return x.astype(Dtype::int64).contiguous(); };
  const auto run = log_p->dtype() == Dtype::float64 ? align<double> : align<float>;
  run(alignment->blank_symbol, log_p->contiguous(), integers(t), integers(input_length), integers(label_length), loss,
      p);
}

}  // namespace

void register_connectionist_temporal_classification(Backend& backend) {
  backend.add<kernels::ConnectionistTemporalClassification>(connectionist_temporal_classification);
}

}  // namespace kusari::cuda
