#include "kusari/cuda/libraries/cudnn_plan.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

constexpr uint32_t bit(cudnnBackendNumericalNote_t note) { return 1u << note; }

// Notes of engines that the key's rules exclude. Sums in less than float32 are never allowed.
uint32_t forbidden_notes(const ConvolutionKey& key) {
  uint32_t notes = bit(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
  if (key.is_deterministic != 0) notes |= bit(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  const bool is_strict = key.element() == Dtype::float32 && key.allows_tf32 == 0;
  if (is_strict) notes |= bit(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  if (is_strict || key.allows_tensor_cores == 0) notes |= bit(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  return notes;
}

constexpr int64_t kMostKnobs = CUDNN_KNOB_TYPE_COUNTS;

}  // namespace

CudnnDescriptor describe_device(const std::string& json) {
#if CUDNN_VERSION < 90800
  throw DeviceError("cuDNN: describing a card needs version 9.8 or later: " + json);
#else
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json);
  device.finalize();
  return device;
#endif
}

const CudnnDescriptor& ConvolutionPlan::pack_of(const ConvolutionKey& key, const ConvolutionPointers& p,
                                                void* workspace) const {
  for (const Pack& pack : packs_) {
    if (pack.pointers == p && pack.workspace == workspace) return pack.descriptor;
  }
  constexpr size_t kMost = 9;
  int64_t ids[kMost] = {kTensorX, kTensorW, kTensorY};
  void* pointers[kMost] = {p.x, p.w, p.y};
  size_t count = 3;
  const auto add = [&](int64_t id, void* pointer) {
    ids[count] = id;
    pointers[count++] = pointer;
  };
  if (key.has_z != 0) add(kTensorZ, p.z);
  if (key.has_bias != 0) add(kTensorBias, p.bias);
  if (key.has_sums != 0) {
    add(kTensorSums, p.sums);
    add(kTensorSquares, p.sums + key.y[1]);
  }
  if (key.has_load != 0) {
    add(kTensorScale, p.load);
    add(kTensorShift, static_cast<char*>(p.load) + key.x[1] * itemsize(key.element()));
  }
  CudnnDescriptor descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const int64_t>(ids, count));
  descriptor.set_pointers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, {pointers, count});
  descriptor.set_pointers(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, {&workspace, 1});
  descriptor.finalize();
  constexpr size_t kMostPacks = 16;
  Pack pack = {p, workspace, std::move(descriptor)};
  if (packs_.size() < kMostPacks) return packs_.emplace_back(std::move(pack)).descriptor;
  oldest_ = (oldest_ + 1) % kMostPacks;
  packs_[oldest_] = std::move(pack);
  return packs_[oldest_].descriptor;
}

void ConvolutionPlan::execute(cudnnHandle_t handle, const ConvolutionKey& key, const ConvolutionPointers& p,
                              void* workspace) const {
  const cudnnStatus_t status = cudnnBackendExecute(handle, plan_.get(), pack_of(key, p, workspace).get());
  if (status != CUDNN_STATUS_SUCCESS) [[unlikely]] {
    throw DeviceError("cuDNN: cudnnBackendExecute of " + choice_ + " for convolution " + text_of(key) +
                      " failed: " + cudnnGetErrorString(status) + ", " + last_cudnn_message());
  }
}

PlanSearch::PlanSearch(const ConvolutionKey& key, const PlanTarget& target) : key_{key}, target_{target} {
  try {
    graph_ = convolution_graph(key, target.handle);
  } catch (const DeviceError& error) {
    graph_error_ = error.what();
  }
}

void PlanSearch::ask(cudnnBackendHeurMode_t mode) {
  constexpr int64_t kMostConfigs = 64;
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
#if CUDNN_VERSION >= 90800
  if (target_.device != nullptr) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target_.device);
#endif
  if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) {
    cudnn_message_ = last_cudnn_message();
    return;
  }
  for (CudnnDescriptor& config :
       heuristics.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMostConfigs)) {
    Candidate candidate;
    const std::vector<CudnnDescriptor> engines =
        config.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
    const CudnnDescriptor& engine = engines.front();
    ConvolutionPlan& plan = candidate.plan;
    plan.engine_ = engine.get_int(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    plan.numerical_notes_ = engine.get_notes(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
    plan.behavior_notes_ = engine.get_notes(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE);
    plan.choice_ = "engine " + std::to_string(plan.engine_);
    for (const CudnnDescriptor& knob :
         config.get_descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, kMostKnobs)) {
      plan.choice_ += ' ' + std::to_string(knob.get_knob(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE)) + ':' +
                      std::to_string(knob.get_int(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    }
    candidate.config = std::move(config);
    candidates_.push_back(std::move(candidate));
  }
  std::stable_partition(candidates_.begin(), candidates_.end(), [](const Candidate& candidate) {
    return candidate.plan.has_note(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  });
}

std::optional<ConvolutionPlan> PlanSearch::build(Candidate candidate) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, candidate.config);
  if (target_.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target_.handle);
#if CUDNN_VERSION >= 90800
  if (target_.device != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target_.device);
#endif
  if (plan.try_finalize() != CUDNN_STATUS_SUCCESS) {
    ++by_cudnn_;
    cudnn_message_ = last_cudnn_message();
    return std::nullopt;
  }
  candidate.plan.workspace_ = plan.get_int(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  if (candidate.plan.workspace_ > key_.workspace_limit) {
    least_workspace_ =
        by_workspace_ == 0 ? candidate.plan.workspace_ : std::min(least_workspace_, candidate.plan.workspace_);
    ++by_workspace_;
    return std::nullopt;
  }
  candidate.plan.plan_ = std::move(plan);
  return std::move(candidate.plan);
}

std::optional<ConvolutionPlan> PlanSearch::next() {
  if (!graph_) return std::nullopt;
  constexpr cudnnBackendHeurMode_t kModes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
  for (;;) {
    while (!candidates_.empty()) {
      Candidate candidate = std::move(candidates_.front());
      candidates_.pop_front();
      ++count_;
      if ((candidate.plan.numerical_notes_ & forbidden_notes(key_)) != 0) {
        ++by_notes_;
      } else if (candidate.plan.has_note(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)) {
        ++by_compilation_;
        if (key_.allows_runtime_compilation != 0) compiled_later_.push_back(std::move(candidate));
      } else if (std::optional<ConvolutionPlan> plan = build(std::move(candidate))) {
        return plan;
      }
    }
    if (modes_asked_ == std::size(kModes)) break;
    ask(kModes[modes_asked_++]);
  }
  while (!compiled_later_.empty()) {
    Candidate candidate = std::move(compiled_later_.front());
    compiled_later_.pop_front();
    if (std::optional<ConvolutionPlan> plan = build(std::move(candidate))) return plan;
  }
  return std::nullopt;
}

std::optional<ConvolutionPlan> PlanSearch::named(const std::string& choice) {
  if (!graph_) return std::nullopt;
  std::istringstream text(choice);
  std::string word;
  Candidate candidate;
  candidate.plan.choice_ = choice;
  if (!(text >> word >> candidate.plan.engine_) || word != "engine") return std::nullopt;
  try {
    return named(std::move(candidate), text);
  } catch (const DeviceError&) {
    return std::nullopt;  // numbers that cuDNN has no name for
  }
}

std::optional<ConvolutionPlan> PlanSearch::named(Candidate candidate, std::istream& knob_texts) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, candidate.plan.engine_);
#if CUDNN_VERSION >= 90800
  if (target_.device != nullptr) engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *target_.device);
#endif
  if (engine.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  candidate.plan.numerical_notes_ = engine.get_notes(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
  candidate.plan.behavior_notes_ = engine.get_notes(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE);
  if ((candidate.plan.numerical_notes_ & forbidden_notes(key_)) != 0 ||
      candidate.plan.has_note(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)) {
    return std::nullopt;
  }
  std::vector<CudnnDescriptor> knobs;
  int type = 0;
  char colon = 0;
  int64_t value = 0;
  while (knob_texts >> type >> colon >> value) {
    CudnnDescriptor& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, static_cast<cudnnBackendKnobType_t>(type));
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
    if (knob.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  }
  candidate.config = CudnnDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  candidate.config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!knobs.empty()) candidate.config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
  if (candidate.config.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  return build(std::move(candidate));
}

std::string PlanSearch::report() const {
  if (!graph_error_.empty()) return graph_error_;
  std::string text = std::to_string(count_) + " candidates";
  const auto add = [&](int count, const std::string& reason) {
    if (count > 0) text += ", " + std::to_string(count) + ' ' + reason;
  };
  add(by_notes_, "excluded by determinism, tensor core or precision settings");
  add(by_workspace_, "over the workspace limit of " + std::to_string(key_.workspace_limit) + " bytes (the least is " +
                         std::to_string(least_workspace_) + ")");
  add(by_compilation_, "compiled at run time");
  add(by_cudnn_, "refused by cuDNN (" + cudnn_message_ + ")");
  if (count_ == 0 && !cudnn_message_.empty()) text += " (" + cudnn_message_ + ')';
  return text;
}

}  // namespace kusari::cuda
