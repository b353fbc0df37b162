#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/key_hash.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution.h"
#include "kusari/framework/cpu/isa.h"

// Which algorithm computes a convolution.
namespace kusari::cpu {
namespace {

struct Algorithm {
  const char* name;
  bool (*supports)(const ConvolutionProblem& p);
  size_t (*workspace)(const ConvolutionProblem& p);
  void (*run)(const ConvolutionProblem& p, const ConvolutionArrays& a);
};

void run(const Algorithm& algorithm, const ConvolutionProblem& p, const ConvolutionArrays& a) {
  if (algorithm.run != convolve_im2col || !p.has_epilogue()) return algorithm.run(p, a);
  ConvolutionArrays sums = a;
  if (!p.has_inner_bias()) sums.bias = nullptr;
  algorithm.run(p.sums(), sums);
  const int64_t chunk = std::max<int64_t>(kThreadChunk / p.out_channels, 1);
  parallel_for(p.batch * p.out_size(), chunk,
               [&](int64_t begin, int64_t end) { finish_convolution(p, a, begin * p.out_channels, end - begin); });
}

template <OneDnnOrder kOrder>
constexpr Algorithm onednn(const char* name) {
  return {name, [](const ConvolutionProblem& p) { return onednn_supports(p, kOrder); },
          [](const ConvolutionProblem& p) { return onednn_workspace(p, kOrder); },
          [](const ConvolutionProblem& p, const ConvolutionArrays& a) { convolve_onednn(p, kOrder, a); }};
}

constexpr Algorithm kDirect = onednn<OneDnnOrder::channels_last>("direct");
constexpr Algorithm kBlocked = onednn<OneDnnOrder::blocked>("blocked");
constexpr Algorithm kWinograd = {"winograd", winograd_supports, winograd_workspace, convolve_winograd};
constexpr Algorithm kIm2col = {"im2col", im2col_supports,
                               [](const ConvolutionProblem&) { return size_t{0}; },  // some hundred KiB for each thread
                               convolve_im2col};

constexpr size_t no_workspace(const ConvolutionProblem&) { return 0; }
constexpr Algorithm kPacked = {"packed", packed_supports, no_workspace, convolve_packed};
constexpr Algorithm kDepthwise = {"depthwise", depthwise_supports, no_workspace, convolve_depthwise_lines};

// oneDNN last: to be asked, it makes its primitives.
constexpr const Algorithm* kAlgorithms[] = {&kPacked, &kDepthwise, &kWinograd, &kIm2col, &kDirect, &kBlocked};

// $KUSARI_CONVOLUTION names the algorithm to use wherever it can be: to test one, or to look for the one at fault.
const Algorithm* forced(const ConvolutionProblem& p) {
  static const Algorithm* const named = []() -> const Algorithm* {
    const auto text = environment::choice("KUSARI_CONVOLUTION");
    if (!text) return nullptr;
    return *std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms),
                         [&](const Algorithm* algorithm) { return algorithm->name == *text; });
  }();
  return named != nullptr && named->supports(p) ? named : nullptr;
}

bool is_strided(const ConvolutionProblem& p) {
  return std::any_of(p.stride, p.stride + p.ndim, [](int64_t stride) { return stride > 1; });
}

// The rates of one core with AVX-512 and, for bfloat16, its dot products; only their ratios matter. Times per channel
// of a tile are those of the transformations, per weight those of the transformed weights or their gradient.
struct WinogradRates {
  double direct_flops, flops, per_channel_of_tile, per_weight;
};
constexpr WinogradRates kFloat32Rates = {2.1e11, 2.1e11, 8.5e-9, 16e-9};
constexpr WinogradRates kAvx2Rates = {9e10, 8.5e10, 12e-9, 12e-9};  // of one core without AVX-512
constexpr WinogradRates kBfloat16Rates = {3.6e11, 4.3e11, 8e-9, 9e-9};
constexpr WinogradRates kBfloat16FilterRates = {3.6e11, 4.3e11, 11e-9, 25e-9};

// Whether Winograd's 36 products of matrices, the transformations around them and that of the weights take clearly less
// time than the direct convolution.
bool is_worth_winograd(const ConvolutionProblem& p) {
  if (!winograd_supports(p)) return false;
  constexpr double kClearly = 0.8;
  const bool is_data = p.pass == ConvolutionPass::data_grad, is_filter = p.pass == ConvolutionPass::filter_grad;
  const WinogradRates& float32 = isa() == Isa::v3 ? kAvx2Rates : kFloat32Rates;
  const WinogradRates& rates = p.element() != Dtype::bfloat16 ? float32
                               : is_filter                    ? kBfloat16FilterRates
                                                              : kBfloat16Rates;
  const int64_t* const size = is_data ? p.in : p.out;
  const auto tiles = static_cast<double>(p.batch * ((size[0] + 3) / 4) * ((size[1] + 3) / 4));
  const auto ins = static_cast<double>(p.in_channels), outs = static_cast<double>(p.out_channels);
  const double time = 72 * tiles * ins * outs / rates.flops + tiles * (ins + outs) * rates.per_channel_of_tile +
                      ins * outs / static_cast<double>(p.groups) * rates.per_weight;
  return time < kClearly * p.flops() / rates.direct_flops;
}

// Whether a filter gradient is faster as a product of matrices. oneDNN's parts have sums of their own to be added up;
// the product is divided without them.
bool is_worth_im2col(const ConvolutionProblem& p) {
  constexpr int64_t kManyChannels = 32, kFewPositions = 1024, kFewBfloat16Channels = 64;
  if (p.in_channels < kManyChannels) return false;
  const bool is_small_kernel = p.kernel_size() == 1;
  if (p.element() != Dtype::bfloat16) {
    return is_small_kernel || is_strided(p) || p.batch * p.out_size() <= kFewPositions;
  }
  return is_small_kernel ? std::min(p.in_channels, p.out_channels) > kFewBfloat16Channels : is_strided(p);
}

// Without measuring: by what was the fastest of each kind on the machines that this was written on. The results depend
// on the sizes alone.
const Algorithm& usual(const ConvolutionProblem& p) {
  if (is_worth_winograd(p)) return kWinograd;
  if (isa() >= Isa::v3) {  // before, multiplications and additions are instructions of their own
    if (kDepthwise.supports(p)) return kDepthwise;
    if (kPacked.supports(p)) return kPacked;
  }
  if (!kDirect.supports(p)) {
    return kIm2col.supports(p) ? kIm2col : (winograd_supports(p) ? kWinograd : kBlocked);
  }
  if (!kIm2col.supports(p) || p.groups > 1) return kDirect;
  constexpr int64_t kFewChannels = 4;
  switch (p.pass) {
    case ConvolutionPass::forward:
      return kDirect;
    case ConvolutionPass::data_grad:
      // oneDNN works on whole vectors of channels.
      return p.in_channels <= kFewChannels || (p.kernel_size() == 1 && p.in_channels <= 64) ? kIm2col : kDirect;
    case ConvolutionPass::filter_grad:
      return is_worth_im2col(p) ? kIm2col : kDirect;
  }
  return kDirect;
}

double seconds(const Algorithm& algorithm, const ConvolutionProblem& p, const ConvolutionArrays& a) {
  const auto start = std::chrono::steady_clock::now();
  run(algorithm, p, a);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The fastest of three runs each; what is far behind after one is not run again.
const Algorithm& fastest(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  constexpr int kRounds = 3;
  struct Candidate {
    const Algorithm* algorithm;
    double time = std::numeric_limits<double>::infinity();
  };
  std::vector<Candidate> candidates;
  for (const Algorithm* algorithm : kAlgorithms) {
    if (algorithm->supports(p) && algorithm->workspace(p) <= get_max_workspace_size())
      candidates.push_back({algorithm});
  }
  if (candidates.empty()) return usual(p);
  for (Candidate& c : candidates) run(*c.algorithm, p, a);  // what is made at the first run does not count
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    for (Candidate& c : candidates) {
      if (round > 0 && c.time > 2 * best) continue;
      c.time = std::min(c.time, seconds(*c.algorithm, p, a));
      best = std::min(best, c.time);
    }
  }
  const auto chosen = std::min_element(candidates.begin(), candidates.end(),
                                       [](const Candidate& x, const Candidate& y) { return x.time < y.time; });
  return *chosen->algorithm;
}

// For tuning::find: everything that hash_of looks at, in a form that lasts.
std::string text_of(const ConvolutionProblem& p) {
  constexpr const char* kPasses[] = {"forward", "data_grad", "filter_grad"};
  std::string text = std::string("cpu.convolution/1 ") + kPasses[static_cast<int>(p.pass)] + ' ' + name(p.element());
  if (p.w_dtype != p.dtype) text += std::string(" weights ") + name(p.w_element());
  const auto add = [&](const char* field, int64_t value) { text.append(field) += std::to_string(value); };
  const auto add_axes = [&](const char* field, const int64_t* values) {
    for (int64_t i = 0; i < p.ndim; ++i) add(i == 0 ? field : "x", values[i]);
  };
  add(" batch ", p.batch);
  add(" channels ", p.in_channels);
  add(" to ", p.out_channels);
  add(" groups ", p.groups);
  add(" bias ", p.has_bias);
  add_axes(" in ", p.in);
  add_axes(" out ", p.out);
  add_axes(" kernel ", p.kernel);
  add_axes(" stride ", p.stride);
  add_axes(" pad ", p.pad);
  add_axes(" dilate ", p.dilate);
  return text;
}

// What was the fastest in this run or in the one that it resumes; null if there is none, or none for this build and
// this limit of the workspace.
const Algorithm* remembered(const ConvolutionProblem& p, const std::string& problem) {
  const std::string chosen = tuning::find(problem);
  if (chosen.empty()) return nullptr;
  for (const Algorithm* algorithm : kAlgorithms) {
    if (chosen == algorithm->name && algorithm->supports(p) && algorithm->workspace(p) <= get_max_workspace_size())
      return algorithm;
  }
  static std::atomic_flag is_told;
  if (!is_told.test_and_set()) {
    log::warn("convolution: the algorithm '" + chosen + "', which an earlier run chose for '" + problem +
              "', cannot be used here; such convolutions are timed again");
  }
  return nullptr;
}

struct Hash {
  size_t operator()(const ConvolutionProblem& p) const noexcept { return hash_of(p); }
};

// The algorithms of the problems that have come.
class Chosen {
 public:
  // Null for a problem that is new, or was before tuning::restore.
  const Algorithm* find(const ConvolutionProblem& p) {
    const std::lock_guard lock(mutex_);
    const uint64_t generation = tuning::generation();
    if (generation_ != generation) algorithms_.clear();
    generation_ = generation;
    const auto found = algorithms_.find(p);
    return found == algorithms_.end() ? nullptr : found->second;
  }
  // Of two threads at one problem, the first decides.
  const Algorithm* add(const ConvolutionProblem& p, const Algorithm* algorithm) {
    const std::lock_guard lock(mutex_);
    return algorithms_.try_emplace(p, algorithm).first->second;
  }

 private:
  ForkSafeMutex mutex_;
  uint64_t generation_ = 0;
  std::unordered_map<ConvolutionProblem, const Algorithm*, Hash> algorithms_;
};

constinit Lazy<Chosen> usual_choices, timed_choices;

// Problems that differ in their epilogues alone have one algorithm, so that what is fused gives the same bits.
const Algorithm* without_timing(const ConvolutionProblem& p) {
  const ConvolutionProblem sums = p.sums();
  if (const Algorithm* algorithm = usual_choices->find(sums)) return algorithm;
  const Algorithm* algorithm = forced(sums);
  return usual_choices->add(sums, algorithm != nullptr ? algorithm : &usual(sums));
}

const Algorithm* with_timing(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  const ConvolutionProblem sums = p.sums();
  if (const Algorithm* algorithm = timed_choices->find(sums)) return algorithm;
  const std::string problem = text_of(sums);
  if (const Algorithm* algorithm = remembered(sums, problem)) return timed_choices->add(sums, algorithm);
  const Algorithm* algorithm = timed_choices->add(sums, &fastest(p, a));
  tuning::keep(problem, algorithm->name);
  return algorithm;
}

}  // namespace

size_t hash_of(const ConvolutionProblem& p) noexcept { return hash_words(p); }

bool can_convolve(const ConvolutionProblem& p) {
  return std::any_of(std::begin(kAlgorithms), std::end(kAlgorithms),
                     [&](const Algorithm* algorithm) { return algorithm->supports(p); });
}

void convolve(const ConvolutionProblem& p, const ConvolutionArrays& a, bool autotune) {
  const bool is_timed = autotune && forced(p) == nullptr;
  run(*(is_timed ? with_timing(p, a) : without_timing(p)), p, a);
}

}  // namespace kusari::cpu
