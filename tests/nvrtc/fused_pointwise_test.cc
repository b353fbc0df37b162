#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nvrtc.h>

#include "kusari/cuda/plans/fused_pointwise_source.h"
#include "kusari/cuda/runtime/nvrtc.h"
#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/fused_pointwise.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

// The real compiler, which needs no card.
namespace kusari::cuda {
namespace {

using Builder = FusedProgramBuilder;
using Value = Builder::Value;
using kernels::FusedProgram;

constexpr const char* kHopper = "sm_90";

void check_compiles(const FusedProgram& program) {
  for (const FusedAccess& access : {FusedAccess{fused_pack(program), true, 0},
                                    FusedAccess{fused_pack(program), false, 2}, FusedAccess{1, false, 0}}) {
    const std::string text = fused_source(program, access);
    CAPTURE(text);
    CHECK_NOTHROW(compile_text(kFusedName, text, {"--fmad=false"}, kHopper));
  }
}

/// To PTX, and with as little optimization as this NVRTC can do: kernels this long take it minutes otherwise.
void check_compiles_quickly(const FusedProgram& program) {
  const std::string text = fused_source(program, {fused_pack(program), true, 0});
  CAPTURE(text);
  std::vector<std::string> options = {"--fmad=false"};
  int major = 0, minor = 0;
  REQUIRE(nvrtcVersion(&major, &minor) == NVRTC_SUCCESS);
  if (major >= 13) options.push_back("--Ofast-compile=max");
  CHECK_NOTHROW(compile_text(kFusedName, text, options, "compute_90"));
}

/// Every functor of the lists that takes the type, one after another.
std::vector<FusedProgram> all_functors(Dtype held) {
  std::vector<FusedProgram> programs;
  Builder builder;
  std::optional<Value> last;
  const std::byte zeros[FusedProgram::kFunctorBytes] = {};
  const auto begin = [&] {
    builder = Builder();
    last = builder.input(held, held);
  };
  const auto add = [&](KernelId id) {
    const PointwiseFunctor& functor = *find_pointwise_functor(id);
    if (held == Dtype::int64 && !functor.takes_integers) return;
    const std::vector<Value*> operands(static_cast<size_t>(functor.arguments), &*last);
    std::optional<Value> next = builder.pointwise(functor, zeros, operands, held, held);
    if (!next) {
      programs.push_back(builder.finish({&*last, 1}));
      begin();
      next = builder.pointwise(functor, zeros, std::vector<Value*>(operands.size(), &*last), held, held);
    }
    last = next;
  };
  begin();
#define KUSARI_TRY(Op) add(kernel_id<kernels::Pointwise<kernels::Op>>());
  KUSARI_ARITHMETIC_OPS(KUSARI_TRY)
  KUSARI_MATH_FUNCTION_OPS(KUSARI_TRY)
  KUSARI_COMPARISON_OPS(KUSARI_TRY)
  KUSARI_ACTIVATION_OPS(KUSARI_TRY)
#undef KUSARI_TRY
  programs.push_back(builder.finish({&*last, 1}));
  return programs;
}

TEST_CASE("fused kernels compile for every functor") {
  for (const Dtype held : {Dtype::float32, Dtype::float64, Dtype::int64}) {
    for (const FusedProgram& program : all_functors(held)) check_compiles_quickly(program);
  }
}

TEST_CASE("fused kernels compile for every dtype and layout") {
  for (const Dtype dtype : {Dtype::bool_, Dtype::uint8, Dtype::int8, Dtype::int32, Dtype::int64, Dtype::float16,
                            Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CAPTURE(dtype);
    Builder builder;
    const Scalar two(2.0);
    Value x = *builder.input(dtype, Builder::natural(dtype));
    Value copy = *builder.copy(x, Dtype::float16),
          filled = *builder.fill(reinterpret_cast<const std::byte*>(&two), dtype);
    const kernels::Add op;
    Value* const operands[] = {&copy, &filled};
    const Dtype dtypes[] = {Dtype::float16, dtype};
    Value sum = *builder.pointwise(*find_pointwise_functor(kernel_id<kernels::Pointwise<kernels::Add>>()),
                                   reinterpret_cast<const std::byte*>(&op), operands,
                                   Builder::compute_dtype(dtypes, dtype), dtype);
    Value back = *builder.copy(sum, Dtype::float32);
    const Value outputs[] = {sum, copy, back};
    check_compiles(builder.finish(outputs));
  }
}

TEST_CASE("a fused kernel's text depends on the program and not on its constants") {
  const auto program = [](double c, Dtype dtype) {
    Builder builder;
    Value x = *builder.input(dtype, Builder::natural(dtype));
    const kernels::AddConst op{c};
    Value* const operands[] = {&x};
    const Value y =
        *builder.pointwise(*find_pointwise_functor(kernel_id<kernels::Pointwise<kernels::AddConst>>()),
                           reinterpret_cast<const std::byte*>(&op), operands, Builder::natural(dtype), dtype);
    return builder.finish({&y, 1});
  };
  const FusedProgram one = program(1, Dtype::float32), two = program(2, Dtype::float32);
  const FusedProgram half = program(1, Dtype::float16);
  CHECK(fused_key(one, {}) == fused_key(two, {}));
  CHECK(fused_source(one, {}) == fused_source(two, {}));
  CHECK(fused_key(one, {}) != fused_key(half, {}));
  CHECK(fused_key(one, {}) != fused_key(one, {4, true, 0}));
  CHECK(fused_pack(one) == 4);
  CHECK(fused_pack(half) == 8);
}

}  // namespace
}  // namespace kusari::cuda
