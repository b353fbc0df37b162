#include "kusari/cuda/libraries/matmul_plan.h"

#include <cstring>
#include <limits>
#include <string>
#include <unordered_map>

#include "kusari/cuda/runtime/graph.h"
#include "kusari/cuda/runtime/handle.h"
#include "kusari/cuda/runtime/workspace.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/key_hash.h"
#include "kusari/framework/core/thread_owned.h"
#include "kusari/framework/core/tuning.h"

namespace kusari::cuda {
namespace {

constexpr int kCandidates = 8;  // that autotuning times

// What NVIDIA advises for its libraries' kernels: Hopper's want more.
size_t most_workspace(const Context& context) { return context.facts().major >= 9 ? 32u << 20 : 4u << 20; }

cudaDataType_t cuda_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return CUDA_R_16F;
    case Dtype::bfloat16:
      return CUDA_R_16BF;
    case Dtype::float64:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

template <class T>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  KUSARI_CUDA_CHECK(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof(value)));
}
template <class T>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
  KUSARI_CUDA_CHECK(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof(value)));
}
template <class T>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  KUSARI_CUDA_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
}

void prepare_layout(cublasLtMatrixLayout_t layout, uint8_t dtype, int64_t rows, int64_t columns, int64_t step,
                    int64_t batch, int64_t batch_step) {
  KUSARI_CUDA_CHECK(cublasLtMatrixLayoutInit(layout, cuda_type(static_cast<Dtype>(dtype)), static_cast<uint64_t>(rows),
                                             static_cast<uint64_t>(columns), step));
  if (batch == 1) return;
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_step);
}

// The name of a problem in the table of tuned choices; algorithms are cuBLASLt's bytes in hexadecimal digits.
std::string problem_of(const Context& context, const MatmulKey& key) {
  std::string text =
      "cuda.matmul/1 " + std::string(context.facts().name) + " cublasLt " + std::to_string(cublasLtGetVersion());
  MatmulKey portable = key;
  portable.device = 0;
  uint64_t words[sizeof(MatmulKey) / 8];
  std::memcpy(words, &portable, sizeof(words));
  for (const uint64_t word : words) text += ' ' + std::to_string(word);
  return text;
}
std::string text_of(const cublasLtMatmulAlgo_t& algorithm) {
  static constexpr char kDigits[] = "0123456789abcdef";
  unsigned char bytes[sizeof(algorithm)];
  std::memcpy(bytes, &algorithm, sizeof(bytes));
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

// For messages.
std::string size_of(const MatmulKey& key) {
  return std::to_string(key.batch) + " times " + std::to_string(key.rows) + " by " + std::to_string(key.depth) +
         " and " + std::to_string(key.depth) + " by " + std::to_string(key.columns) + " matrices";
}

struct Hash {
  size_t operator()(const MatmulKey& key) const noexcept { return hash_words(key); }
};
struct Equal {
  bool operator()(const MatmulKey& a, const MatmulKey& b) const noexcept { return std::memcmp(&a, &b, sizeof(a)) == 0; }
};

// Of one thread: a call sets the addresses of the vector in its plan's descriptor, and nothing is locked.
struct Plans {
  std::unordered_map<MatmulKey, MatmulPlan, Hash, Equal> by_key;
  uint64_t generation = tuning::generation();
};

}  // namespace

MatmulPlan& MatmulPlan::of(Context& context, const MatmulKey& key, const MatmulPointers& pointers) {
  static constinit thread_local Plans* own = nullptr;
  Plans& plans = kusari::detail::thread_owned(own);
  if (const uint64_t generation = tuning::generation(); generation != plans.generation) [[unlikely]] {
    plans.by_key.clear();
    plans.generation = generation;
  }
  const auto found = plans.by_key.find(key);
  if (found != plans.by_key.end()) [[likely]]
    return found->second;
  StreamCapture::refuse_first_use("the choice of cuBLASLt's algorithm for a product of " + size_of(key));
  // In its place before it is prepared: descriptors are not moved.
  MatmulPlan& plan = plans.by_key[key];
  try {
    plan.prepare(context, key, pointers);
  } catch (...) {
    plans.by_key.erase(key);
    throw;
  }
  return plan;
}

void MatmulPlan::prepare(Context& context, const MatmulKey& key, const MatmulPointers& pointers) {
  is_double_ = static_cast<Dtype>(key.input) == Dtype::float64;
  const cublasComputeType_t compute =
      is_double_ ? CUBLAS_COMPUTE_64F : (key.tf32 != 0 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
  KUSARI_CUDA_CHECK(cublasLtMatmulDescInit(&operation_, compute, is_double_ ? CUDA_R_64F : CUDA_R_32F));
  const auto transposition = [](uint8_t is_transposed) -> int32_t {
    return is_transposed != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(&operation_, CUBLASLT_MATMUL_DESC_TRANSA, transposition(key.a_transposed));
  set(&operation_, CUBLASLT_MATMUL_DESC_TRANSB, transposition(key.b_transposed));
  has_vector_ = key.epilogue != MatmulKey::kPlain;
  if (has_vector_) {
    const uint32_t epilogue = key.epilogue == MatmulKey::kBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_BGRADB;
    set(&operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(&operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.vector);
  }
  const auto layout = [&key](cublasLtMatrixLayout_t to, uint8_t dtype, bool transposed, int64_t rows, int64_t columns,
                             int64_t step, int64_t batch_step) {
    prepare_layout(to, dtype, transposed ? columns : rows, transposed ? rows : columns, step, key.batch, batch_step);
  };
  layout(&a_, key.input, key.a_transposed != 0, key.rows, key.depth, key.a_step, key.a_batch);
  layout(&b_, key.input, key.b_transposed != 0, key.depth, key.columns, key.b_step, key.b_batch);
  layout(&d_, key.output, false, key.rows, key.columns, key.d_step, key.d_batch);

  cublasLtMatmulHeuristicResult_t found[kCandidates];
  const int count = find_candidates(context, key, found, 1);
  is_supported_ = count > 0;
  if (is_supported_) choose(found[0]);
}

int MatmulPlan::find_candidates(Context& context, const MatmulKey& key, cublasLtMatmulHeuristicResult_t* found,
                                int most) {
  cublasLtMatmulPreferenceOpaque_t preference;
  KUSARI_CUDA_CHECK(cublasLtMatmulPreferenceInit(&preference));
  set(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(most_workspace(context)));
  const auto bytes = [&key](int operand) { return uint32_t{1} << key.alignment[operand]; };
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, bytes(0));
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, bytes(1));
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, bytes(2));
  set(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, bytes(2));
  if (is_half(static_cast<Dtype>(key.output))) {  // parts of a sum over k are added in float32
    set(&preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  }
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(context.cublaslt(), &operation_, &a_, &b_, &d_, &d_,
                                                               &preference, most, found, &count);
  // What the library says of an epilogue that it does not have for these types is not documented.
  const bool is_refused = key.epilogue != MatmulKey::kPlain && status == CUBLAS_STATUS_INVALID_VALUE;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || is_refused) return 0;
  KUSARI_CUDA_CHECK(status);
  int usable = 0;
  for (int i = 0; i < count; ++i) {
    if (found[i].state == CUBLAS_STATUS_SUCCESS) found[usable++] = found[i];
  }
  return usable;
}

void MatmulPlan::choose(const cublasLtMatmulHeuristicResult_t& candidate) noexcept {
  algorithm_ = candidate.algo;
  workspace_ = candidate.workspaceSize;
}

cublasStatus_t MatmulPlan::enqueue(Context& context, const MatmulPointers& pointers, bool accumulate) {
  static constexpr float kFloats[] = {0, 1};
  static constexpr double kDoubles[] = {0, 1};
  const auto scalar = [this](int value) {
    return is_double_ ? static_cast<const void*>(&kDoubles[value]) : static_cast<const void*>(&kFloats[value]);
  };
  if (has_vector_) set(&operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.vector);
  void* const scratch = workspace(context, workspace_);
  const RelaxedCapture relaxed;  // cuBLASLt loads kernels
  return cublasLtMatmul(context.cublaslt(), &operation_, scalar(1), pointers.a, &a_, pointers.b, &b_,
                        scalar(accumulate ? 1 : 0), pointers.d, &d_, pointers.d, &d_, &algorithm_, scratch, workspace_,
                        context.stream());
}

void MatmulPlan::run(Context& context, const MatmulPointers& pointers, bool accumulate) {
  KUSARI_CUDA_CHECK(enqueue(context, pointers, accumulate));
}

void MatmulPlan::tune(Context& context, const MatmulKey& key, const MatmulPointers& pointers) {
  if (is_tuned_ || !is_supported_) return;
  StreamCapture::refuse_first_use("the timing of cuBLASLt's algorithms for a product of " + size_of(key));
  if (is_captured(context.stream())) return;
  is_tuned_ = true;
  cublasLtMatmulHeuristicResult_t found[kCandidates];
  const int count = find_candidates(context, key, found, kCandidates);
  const std::string problem = problem_of(context, key), known = tuning::find(problem);
  for (int i = 0; i < count; ++i) {
    if (text_of(found[i].algo) == known) return choose(found[i]);
  }
  if (count < 2) return;
  const TimedEvent begin, end;
  float least = std::numeric_limits<float>::infinity();
  int best = 0;
  for (int i = 0; i < count; ++i) {
    constexpr int kRuns = 3;
    choose(found[i]);
    if (enqueue(context, pointers, false) != CUBLAS_STATUS_SUCCESS) continue;
    KUSARI_CUDA_CHECK(cudaEventRecord(begin.get(), context.stream()));
    for (int run = 0; run < kRuns; ++run) KUSARI_CUDA_CHECK(enqueue(context, pointers, false));
    KUSARI_CUDA_CHECK(cudaEventRecord(end.get(), context.stream()));
    KUSARI_CUDA_CHECK(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    KUSARI_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    if (milliseconds >= least) continue;
    least = milliseconds;
    best = i;
  }
  choose(found[best]);
  tuning::keep(problem, text_of(found[best].algo));
}

}  // namespace kusari::cuda
