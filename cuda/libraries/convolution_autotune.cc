#include "kusari/cuda/libraries/convolution_autotune.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <utility>

#include "kusari/cuda/runtime/graph.h"
#include "kusari/cuda/runtime/handle.h"
#include "kusari/cuda/runtime/saved_choices.h"
#include "kusari/cuda/runtime/workspace.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/tuning.h"

namespace kusari::cuda {
namespace {

// Printable, without '=': see tuning.h.
std::string problem_of(const Context& context, const ConvolutionKey& key, const char* family = "cuda.convolution/1") {
  return std::string(family) + ' ' + context.facts().name + " cudnn " + std::to_string(cudnnGetVersion()) + ' ' +
         text_of(key);
}

// Milliseconds of one execution: the least of some; infinity for a plan that fails, as some do on some shapes though
// cuDNN has made them.
float measure(Context& context, const ConvolutionKey& key, const ConvolutionPlan& plan,
              const ConvolutionPointers& pointers, float best) {
  constexpr int kRounds = 3;
  const TimedEvent begin, end;
  float least = std::numeric_limits<float>::infinity();
  void* scratch = nullptr;
  const auto run = [&] {
    KUSARI_CUDA_CHECK(cudaEventRecord(begin.get(), context.stream()));
    plan.execute(context.cudnn(), key, pointers, scratch);
    KUSARI_CUDA_CHECK(cudaEventRecord(end.get(), context.stream()));
    KUSARI_CUDA_CHECK(cudaEventSynchronize(end.get()));
    float time = 0;
    KUSARI_CUDA_CHECK(cudaEventElapsedTime(&time, begin.get(), end.get()));
    return time;
  };
  try {
    scratch = workspace(context, static_cast<size_t>(plan.workspace()));
    // What is loaded at the first run does not count; but some engines take a thousand times as long as others.
    constexpr float kLoading = 5;
    const float first = run();
    if (first > 10 * best + kLoading) return first;
  } catch (const Error& error) {
    log::info(std::string("convolution: a plan is not taken: ") + error.what());
    return least;
  }
  for (int round = 0; round < kRounds; ++round) {
    least = std::min(least, run());
    if (least > 2 * best) break;
  }
  return least;
}

std::optional<ConvolutionPlan> fastest(Context& context, const ConvolutionKey& key,
                                       const ConvolutionPointers& pointers) {
  constexpr int kMostPlans = 8;
  ConvolutionKey precompiled = key;  // nothing is compiled for a measurement
  precompiled.allows_runtime_compilation = 0;
  PlanSearch search(precompiled, {context.cudnn(), nullptr});
  std::optional<ConvolutionPlan> chosen;
  float best = std::numeric_limits<float>::infinity();
  for (int i = 0; i < kMostPlans; ++i) {
    std::optional<ConvolutionPlan> plan = search.next();
    if (!plan) break;
    const float time = measure(context, key, *plan, pointers, best);
    if (time >= best) continue;
    best = time;
    chosen = std::move(plan);
  }
  return chosen;
}

// What was the fastest in this process, in the run that it resumes or in an earlier one.
std::optional<ConvolutionPlan> remembered(Context& context, const ConvolutionKey& key, const std::string& problem) {
  const PlanTarget target = {context.cudnn(), nullptr};
  std::string choice = tuning::find(problem);
  if (!choice.empty()) {
    std::optional<ConvolutionPlan> plan = PlanSearch(key, target).named(choice);
    if (plan) return plan;
    static std::atomic_flag is_told;
    if (!is_told.test_and_set()) {
      log::warn("convolution: '" + choice + "' of cuDNN, which an earlier run chose for '" + problem +
                "', cannot be used here; such convolutions are timed again");
    }
  }
  choice = find_saved_choice(problem);
  if (choice.empty()) return std::nullopt;
  std::optional<ConvolutionPlan> plan = PlanSearch(key, target).named(choice);
  if (plan) tuning::keep(problem, choice);
  return plan;
}

// Milliseconds of work that has run before: the least of some.
float measure(Context& context, const std::function<void()>& work) {
  constexpr int kRounds = 3;
  const TimedEvent begin, end;
  float least = std::numeric_limits<float>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    KUSARI_CUDA_CHECK(cudaEventRecord(begin.get(), context.stream()));
    work();
    KUSARI_CUDA_CHECK(cudaEventRecord(end.get(), context.stream()));
    KUSARI_CUDA_CHECK(cudaEventSynchronize(end.get()));
    float time = 0;
    KUSARI_CUDA_CHECK(cudaEventElapsedTime(&time, begin.get(), end.get()));
    least = std::min(least, time);
  }
  return least;
}

constexpr const char *kFused = "fused", *kParts = "parts";

// kFused, kParts or nothing.
std::string remembered_way(const std::string& problem) {
  for (const std::string& choice : {tuning::find(problem), find_saved_choice(problem)}) {
    if (choice == kFused || choice == kParts) return choice;
  }
  return "";
}

}  // namespace

bool pays_off(Context& context, ConvolutionRoute& route, const std::function<void()>& fused,
              const std::function<void()>& parts) {
  if (route.pays_off && route.pays_off_generation == tuning::generation()) [[likely]]
    return *route.pays_off;
  const uint64_t generation = tuning::generation();
  const std::string problem = problem_of(context, route.key, "cuda.convolution_fused/1");
  StreamCapture::refuse_first_use("the timing of convolution " + text_of(route.key) + " against its parts");
  std::string choice = remembered_way(problem);
  if (choice.empty()) {
    if (is_captured(context.stream())) return true;
    for (const std::function<void()>* const way : {&fused, &parts}) (*way)();  // what is loaded and timed inside
    choice = measure(context, fused) <= measure(context, parts) ? kFused : kParts;
    save_choice(problem, choice);
  }
  tuning::keep(problem, choice);
  route.pays_off = choice == kFused;
  route.pays_off_generation = generation;
  return *route.pays_off;
}

bool is_timed(const ConvolutionRoute& route) { return route.timed && route.timed_generation == tuning::generation(); }

const ConvolutionPlan& timed_plan(Context& context, ConvolutionRoute& route, const ConvolutionPointers& pointers) {
  if (is_timed(route)) [[likely]]
    return *route.timed;
  const uint64_t generation = tuning::generation();
  const std::string problem = problem_of(context, route.key);
  StreamCapture::refuse_first_use("the timing of cuDNN's plans for convolution " + text_of(route.key));
  std::optional<ConvolutionPlan> plan = remembered(context, route.key, problem);
  if (!plan) {
    if (is_captured(context.stream())) return *route.plan;
    plan = fastest(context, route.key, pointers);
    if (!plan) return *route.plan;
    tuning::keep(problem, plan->choice());
    save_choice(problem, plan->choice());
  }
  route.timed = std::move(plan);
  route.timed_generation = generation;
  return *route.timed;
}

}  // namespace kusari::cuda
