#include "kusari/cuda/plans/fused_pointwise_source.h"

#include <algorithm>
#include <cstring>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

using kernels::FusedProgram;

constexpr const char* kPrelude = R"(#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/user/prelude.h"

namespace {
using namespace kusari::user;
namespace kernels = kusari::kernels;
using kusari::km::i64;

template <class T, int kSize>
struct alignas(sizeof(T) * kSize > 16 ? 16 : sizeof(T) * kSize) Pack {
  T at[kSize];
};

// Whole numbers are computed with as int64, halves as float32.
__device__ __forceinline__ i64 widen(bool x) { return x ? 1 : 0; }
__device__ __forceinline__ i64 widen(uint8 x) { return x; }
__device__ __forceinline__ i64 widen(int8 x) { return x; }
__device__ __forceinline__ i64 widen(int32 x) { return x; }
__device__ __forceinline__ i64 widen(int64 x) { return x; }
__device__ __forceinline__ float32 widen(float16 x) { return x; }
__device__ __forceinline__ float32 widen(bfloat16 x) { return x; }
__device__ __forceinline__ float32 widen(float32 x) { return x; }
__device__ __forceinline__ float64 widen(float64 x) { return x; }

template <class T>
struct Narrow {
  template <class From>
  __device__ static __forceinline__ T of(From x) {
    if constexpr (sizeof(T) == 1 && From(0.5) != From(0)) {
      return static_cast<T>(static_cast<int>(x));  // what lies outside the small type wraps
    } else {
      return static_cast<T>(x);
    }
  }
};
template <>
struct Narrow<bool> {
  template <class From>
  __device__ static __forceinline__ bool of(From x) {
    return x != From(0);
  }
};
template <>
struct Narrow<float16> {
  template <class From>
  __device__ static __forceinline__ float16 of(From x) {
    return float16(static_cast<float>(x));
  }
};
template <>
struct Narrow<bfloat16> {
  template <class From>
  __device__ static __forceinline__ bfloat16 of(From x) {
    return bfloat16(static_cast<float>(x));
  }
};

template <class Op, class C, class... X>
__device__ __forceinline__ C apply(const Op& op, C x, X... others) {
#if !defined(__CUDA_ARCH__)
  if constexpr (requires { Op::is_rare(x); }) {
    if (Op::is_rare(x)) return Op::rare(x);
  }
#endif
  return op(x, others...);
}

template <class T, int kSize>
__device__ __forceinline__ Pack<T, kSize> load(const char* from, bool repeated) {
  if (!repeated) return *reinterpret_cast<const Pack<T, kSize>*>(from);
  const T element = *reinterpret_cast<const T*>(from);
  Pack<T, kSize> pack;
  for (T& at : pack.at) at = element;
  return pack;
}

)";

std::string number(int64_t n) { return std::to_string(n); }
std::string type(Dtype dtype) { return dtype == Dtype::bool_ ? "bool" : name(dtype); }

/// The type of a value that is held in a dtype.
std::string held_type(Dtype dtype) { return dtype == Dtype::int64 ? "i64" : name(dtype); }

/// The operand's dtype: outputs first.
Dtype dtype_of_operand(const FusedProgram& program, int k) {
  return k < program.outputs ? program.output_dtype[k] : program.input_dtype[k - program.outputs];
}

/// struct Arguments as FusedArguments.
std::string arguments_text() {
  const std::string operands = number(FusedProgram::kMaxOperands), axes = number(kMaxNdim);
  return "struct Divisor {\n  unsigned divisor, shift, multiplier;\n};\n"
         "struct Arguments {\n  char* base[" +
         operands +
         "];\n  int64 packs, elements;\n  struct {\n    int ndim;\n"
         "    Divisor size[" +
         axes + "];\n    int stride[" + axes + "][" + operands +
         "];\n  } index;\n"
         "  alignas(8) unsigned char functor[" +
         number(FusedArguments::kFunctorBytes) + "];\n};\n\n";
}

std::string value(int v) { return "v" + number(v); }

/// The operations on one element.
std::string compute_text(const FusedProgram& program) {
  std::string text = "struct Inputs {\n";
  for (int i = 0; i < program.inputs; ++i) text += "  " + held_type(program.input[i]) + " " + value(i) + ";\n";
  text += "};\nstruct Outputs {\n";
  for (int k = 0; k < program.outputs; ++k) {
    text += "  " + held_type(program.held(program.output[k])) + " y" + number(k) + ";\n";
  }
  text += "};\n\n__device__ __forceinline__ Outputs compute(const Arguments& a, const Inputs& x) {\n";
  for (int i = 0; i < program.inputs; ++i) {
    text += "  const " + held_type(program.input[i]) + " " + value(i) + " = x." + value(i) + ";\n";
  }
  for (int j = 0; j < program.ops; ++j) {
    const FusedProgram::Op& op = program.op[j];
    const std::string at = "(a.functor + " + number(j * static_cast<int64_t>(FusedProgram::kFunctorBytes)) + ")";
    text += "  const " + held_type(op.held) + " " + value(program.inputs + j) + " = ";
    if (op.kernel.index == kernel_id<kernels::Copy>().index) {
      text += "static_cast<" + held_type(op.held) + ">(widen(Narrow<" + type(op.dtype) + ">::of(" +
              value(op.operand[0]) + ")));\n";
    } else if (op.arguments == 0) {
      text += "*reinterpret_cast<const " + held_type(op.held) + "*>" + at + ";\n";
    } else {
      const PointwiseFunctor* const functor = find_pointwise_functor(op.kernel);
      if (functor == nullptr) throw ValueError("fused_pointwise: a kernel has no functor");
      text += std::string("apply(*reinterpret_cast<const kernels::") + functor->type + "*>" + at;
      for (int k = 0; k < op.arguments; ++k) text += ", " + value(op.operand[k]);
      text += ");\n";
    }
  }
  text += "  return {";
  for (int k = 0; k < program.outputs; ++k) text += (k > 0 ? ", " : "") + value(program.output[k]);
  return text + "};\n}\n\n";
}

/// One element: from packs or from memory to memory or packs. `read(i)` and `write(k)` give the places' texts.
template <class Read, class Write>
std::string element_text(const FusedProgram& program, const std::string& indent, const Read& read, const Write& write) {
  std::string text = indent + "Inputs x;\n";
  for (int i = 0; i < program.inputs; ++i) {
    text += indent + "x." + value(i) + " = static_cast<" + held_type(program.input[i]) + ">(widen(" + read(i) + "));\n";
  }
  text += indent + "const Outputs y = compute(a, x);\n";
  for (int k = 0; k < program.outputs; ++k) {
    text += indent + write(k) + " = Narrow<" + type(program.output_dtype[k]) + ">::of(y.y" + number(k) + ");\n";
  }
  return text;
}

}  // namespace

int fused_pack(const FusedProgram& program) {
  int64_t smallest = 8, largest = 1;
  for (int k = 0; k < program.outputs + program.inputs; ++k) {
    smallest = std::min(smallest, itemsize(dtype_of_operand(program, k)));
    largest = std::max(largest, itemsize(dtype_of_operand(program, k)));
  }
  return static_cast<int>(std::min(16 / smallest, 32 / largest));
}

void set_functors(const FusedProgram& program, FusedArguments& arguments) {
  for (int j = 0; j < program.ops; ++j) {
    const FusedProgram::Op& op = program.op[j];
    std::byte* const to = arguments.functor + static_cast<size_t>(j) * FusedProgram::kFunctorBytes;
    if (op.arguments > 0) {
      std::memcpy(to, op.functor, FusedProgram::kFunctorBytes);
      continue;
    }
    const Scalar& scalar = *reinterpret_cast<const Scalar*>(op.functor);
    visit_dtype(op.dtype, [&]<class From>() {
      const From rounded = scalar.as<From>();
      visit_dtype(op.held, [&]<class To>() {
        const To held = convert_element<To>(rounded);
        std::memcpy(to, &held, sizeof(held));
      });
    });
  }
}

std::string fused_key(const FusedProgram& program, const FusedAccess& access) {
  std::string key;
  const auto add = [&](const auto& field) { key.append(reinterpret_cast<const char*>(&field), sizeof(field)); };
  add(access.pack);
  add(access.is_flat);
  add(access.repeated);
  add(program.inputs);
  add(program.outputs);
  add(program.ops);
  for (int i = 0; i < program.inputs; ++i) {
    add(program.input[i]);
    add(program.input_dtype[i]);
  }
  for (int k = 0; k < program.outputs; ++k) {
    add(program.output[k]);
    add(program.output_dtype[k]);
  }
  for (int j = 0; j < program.ops; ++j) {
    const FusedProgram::Op& op = program.op[j];
    add(op.kernel);
    add(op.held);
    add(op.dtype);
    for (int k = 0; k < op.arguments; ++k) add(op.operand[k]);
  }
  return key;
}

std::string fused_source(const FusedProgram& program, const FusedAccess& access) {
  const int operands = program.outputs + program.inputs;
  const auto pack_type = [&](int k) {
    return "Pack<" + type(dtype_of_operand(program, k)) + ", " + number(access.pack) + ">";
  };
  const auto name_of = [&](int k) { return k < program.outputs ? "q" + number(k) : "p" + number(k - program.outputs); };
  const auto place = [&](int k) {
    const std::string base = "a.base[" + number(k) + "]";
    if (!access.is_flat) return base + " + offset[j][" + number(k) + "]";
    if ((access.repeated >> k & 1u) != 0) return base;
    return base + " + pack * static_cast<int64>(sizeof(" + pack_type(k) + "))";
  };

  std::string text = kPrelude + arguments_text() + compute_text(program) + "}  // namespace\n\n";
  text += "extern \"C\" __global__ void __launch_bounds__(" + number(kFusedThreads) + ") " + std::string(kFusedName) +
          "(const Arguments a) {\n";
  text += "  constexpr int kPacks = " + number(kFusedPacks) + ", kThreads = " + number(kFusedThreads) + ";\n";
  text += "  const int64 first = static_cast<int64>(blockIdx.x) * (kPacks * kThreads) + threadIdx.x;\n";
  if (!access.is_flat) {
    text += "  int offset[kPacks][" + number(operands) + "];\n#pragma unroll\n  for (int j = 0; j < kPacks; ++j) {\n";
    text += "    unsigned rest = first + j * kThreads < a.packs ? static_cast<unsigned>(first + j * kThreads) : 0;\n";
    text += "#pragma unroll\n    for (int k = 0; k < " + number(operands) + "; ++k) offset[j][k] = 0;\n";
    text += "    for (int axis = 0; axis < a.index.ndim; ++axis) {\n      unsigned place = rest;\n";
    text += "      if (axis + 1 < a.index.ndim) {\n        const Divisor by = a.index.size[axis];\n";
    text +=
        "        rest = (static_cast<unsigned>((static_cast<unsigned long long>(rest) * by.multiplier) >> 32) + rest) "
        ">> by.shift;\n        place -= rest * by.divisor;\n      }\n";
    text += "#pragma unroll\n      for (int k = 0; k < " + number(operands) +
            "; ++k) offset[j][k] += static_cast<int>(place) * a.index.stride[axis][k];\n    }\n  }\n";
  }
  for (int k = program.outputs; k < operands; ++k) text += "  " + pack_type(k) + " " + name_of(k) + "[kPacks];\n";
  text +=
      "#pragma unroll\n  for (int j = 0; j < kPacks; ++j) {\n    const int64 pack = first + j * kThreads;\n"
      "    if (pack >= a.packs) continue;\n";
  for (int k = program.outputs; k < operands; ++k) {
    text += "    " + name_of(k) + "[j] = load<" + type(dtype_of_operand(program, k)) + ", " + number(access.pack) +
            ">(" + place(k) + ", " + ((access.repeated >> k & 1u) != 0 ? "true" : "false") + ");\n";
  }
  text +=
      "  }\n#pragma unroll\n  for (int j = 0; j < kPacks; ++j) {\n    const int64 pack = first + j * kThreads;\n"
      "    if (pack >= a.packs) continue;\n";
  for (int k = 0; k < program.outputs; ++k) text += "    " + pack_type(k) + " " + name_of(k) + ";\n";
  text += "#pragma unroll\n    for (int i = 0; i < " + number(access.pack) + "; ++i) {\n";
  text += element_text(
      program, "      ", [&](int i) { return name_of(program.outputs + i) + "[j].at[i]"; },
      [&](int k) { return name_of(k) + ".at[i]"; });
  text += "    }\n";
  for (int k = 0; k < program.outputs; ++k) {
    text += "    *reinterpret_cast<" + pack_type(k) + "*>(" + place(k) + ") = " + name_of(k) + ";\n";
  }
  text += "  }\n";
  if (access.is_flat && access.pack > 1) {
    text += "  const int64 i = a.packs * " + number(access.pack) + " + threadIdx.x;\n";
    text += "  if (blockIdx.x + 1 == gridDim.x && i < a.elements) {\n";
    const auto element = [&](int k) {
      return "reinterpret_cast<" + type(dtype_of_operand(program, k)) + "*>(a.base[" + number(k) + "])[" +
             ((access.repeated >> k & 1u) != 0 ? "0" : "i") + "]";
    };
    text += element_text(
        program, "    ", [&](int i) { return element(program.outputs + i); }, [&](int k) { return element(k); });
    text += "  }\n";
  }
  return text + "}\n";
}

}  // namespace kusari::cuda
