#include "kusari/framework/functions/math/einsum.h"

#include "kusari/framework/amp/autocast.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array a() { return array<float>({1, 2, 3, 4}, {2, 2}); }
Array b() { return array<float>({5, 6, 7, 8}, {2, 2}); }

TEST_CASE("einsum of one operand") {
  check_close(F::einsum("ij->ji", {a()}), {2, 2}, {1, 3, 2, 4});
  check_close(F::einsum("ba", {a()}), {2, 2}, {1, 3, 2, 4});  // in alphabetical order
  check_close(F::einsum("ii", {a()}), {}, {5});
  check_close(F::einsum("ii->i", {a()}), {2}, {1, 4});
  check_close(F::einsum("ij->j", {a()}), {2}, {4, 6});
  check_close(F::einsum("ij->", {a()}), {}, {10});
  check_close(F::einsum("...i->i...", {a()}), {2, 2}, {1, 3, 2, 4});
  check_close(F::einsum("iii->i", {arange(8, Dtype::float32, test_device()).reshape({2, 2, 2})}), {2}, {0, 7});
  check_close(F::einsum("ijij->ij", {arange(16, Dtype::float32, test_device()).reshape({2, 2, 2, 2})}), {2, 2},
              {0, 5, 10, 15});
  check_close(F::einsum("", {full({}, 3, Dtype::float32)}), {}, {3});
}

TEST_CASE("einsum of several operands") {
  const Array v = array<float>({1, 2});
  check_close(F::einsum("ij,jk->ik", {a(), b()}), {2, 2}, {19, 22, 43, 50});
  check_close(F::einsum(" i j , j k ", {a(), b()}), {2, 2}, {19, 22, 43, 50});
  check_close(F::einsum("ij,ij->ij", {a(), b()}), {2, 2}, {5, 12, 21, 32});
  check_close(F::einsum("ij,ij", {a(), b()}), {}, {70});
  check_close(F::einsum("i,j->ji", {v, v}), {2, 2}, {1, 2, 2, 4});
  check_close(F::einsum("ij,kl->", {a(), b()}), {}, {260});
  check_close(F::einsum("ii,ij->j", {a(), b()}), {2}, {1 * 5 + 4 * 7, 1 * 6 + 4 * 8});
  check_close(F::einsum("ab,bc,c->a", {a(), b(), v}), {2}, {63, 143});
  check_close(F::einsum(",ij->ij", {full({}, 2, Dtype::float32), a()}), {2, 2}, {2, 4, 6, 8});
  check_close(F::einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 2})}), {2, 2}, {0, 0, 0, 0});
  CHECK(F::einsum("i,i", {v, v.astype(Dtype::float64)}).dtype() == Dtype::float64);
  CHECK(F::einsum("i,j->ij", {v, v.astype(Dtype::float64)}).dtype() == Dtype::float64);
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::einsum("ij,jk->ik", {a().astype(dtype), b().astype(dtype)});
    CHECK(y.dtype() == dtype);
    check_close(y, {2, 2}, {19, 22, 43, 50});
  }
}

TEST_CASE("einsum of many dot products sums half types in float32") {
  const int64_t n = 3000;  // 2048 + 1 is 2048 in float16
  const Variable x = ones({2, n}, Dtype::float16, test_device());
  const Variable y = F::einsum("ij,ij->i", {x, x});
  CHECK(y.dtype() == Dtype::float16);
  CHECK(y.to_vector<double>() == std::vector<double>{3000, 3000});
}

TEST_CASE("einsum sums in the dtype of the result") {
  const Variable narrow = full({100}, 1000, Dtype::float16, test_device()),
                 wide = ones({2}, Dtype::float32, test_device());
  const Variable y = F::einsum("i,j->j", {narrow, wide});  // 100000 is infinite in float16
  CHECK(y.dtype() == Dtype::float32);
  check_close(y, {2}, {100000, 100000});
}

TEST_CASE("einsum's ellipsis broadcasts") {
  const Array batch = array<float>({1, 0, 0, 1, 2, 0, 0, 2}, {2, 2, 2});
  check_close(F::einsum("...ij,...jk->...ik", {batch, a()}), {2, 2, 2}, {1, 2, 3, 4, 2, 4, 6, 8});
  check_close(F::einsum("...ij,...jk", {a().reshape({1, 2, 2}), batch}), {2, 2, 2}, {1, 2, 3, 4, 2, 4, 6, 8});
  check_close(F::einsum("i...,i...->...", {a(), array<float>({1, 10}, {2, 1})}), {2}, {31, 42});
  check_close(F::einsum("...,...", {a(), full({}, 2, Dtype::float32)}), {2, 2}, {2, 4, 6, 8});
  check_close(F::einsum("i...->...i", {a()}), {2, 2}, {1, 3, 2, 4});
  check_close(F::einsum("ij...->j", {a()}), {2}, {4, 6});  // it stands for nothing
}

TEST_CASE("einsum of operands with lists of numbers") {
  check_close(F::einsum({{a(), {0, 1}}, {b(), {1, 2}}}, {{0, 2}}), {2, 2}, {19, 22, 43, 50});
  check_close(F::einsum({{a(), {0, 1}}, {b(), {1, 2}}}), {2, 2}, {19, 22, 43, 50});
  check_close(F::einsum({{a(), {1, 0}}}), {2, 2}, {1, 3, 2, 4});
  check_close(F::einsum({{a(), {F::kEllipsisSubscript, 0}}}, {{0, F::kEllipsisSubscript}}), {2, 2}, {1, 3, 2, 4});
  CHECK_THROWS_WITH_AS(F::einsum({{a(), {0, 52}}}),
                       "F::einsum: subscript 52: numbers are 0 to 51, or kEllipsisSubscript", ValueError);
}

TEST_CASE("einsum's gradients") {
  check_gradients([](const Variable& a) { return F::einsum("iji->j", {a}); }, uniform({3, 2, 3}, -1, 1));
  check_gradients([](const Variable& a) { return F::einsum("ij->ij", {a}); }, uniform({3, 2}, -1, 1));
  check_gradients(
      [](const Variable& a, const Variable& b) {
        return F::einsum("...ij,kj...->i...k", {a, b});
      },
      uniform({2, 3, 2}, -1, 1, 1), uniform({3, 2, 1}, -1, 1, 2));
  check_gradients(
      [](const Variable& a, const Variable& b, const Variable& c) {
        return F::einsum("ab,cbd,ad->c", {a, b, c});
      },
      uniform({2, 3}, -1, 1, 1), uniform({2, 3, 2}, -1, 1, 2), uniform({2, 2}, -1, 1, 3));
}

TEST_CASE("einsum computes in 16 bits under autocast") {
  const amp::Autocast autocast({.dtype = Dtype::bfloat16});
  CHECK(F::einsum("ij,jk->k", {a(), b()}).dtype() == Dtype::bfloat16);
}

TEST_CASE("einsum's errors") {
  const Array c = ones({3, 2});
  CHECK_THROWS_WITH_AS(F::einsum("ij,jk", {c, c}),
                       "F::einsum: operand 1 has shape (3, 2): j has size 3 there but size 2 before", TypeError);
  CHECK_THROWS_WITH_AS(F::einsum("ii", {c}),
                       "F::einsum: operand 0 has shape (3, 2): i has size 2 there but size 3 before", TypeError);
  CHECK_THROWS_WITH_AS(F::einsum("...,...", {c, ones({2, 2})}),
                       "F::einsum: operand 1 has shape (2, 2): ... has size 2 there but size 3 before", TypeError);
  CHECK_THROWS_WITH_AS(F::einsum("i", {c}), "F::einsum: operand 0 has shape (3, 2): its subscripts are for 1 axes",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::einsum("ijk...", {c}),
                       "F::einsum: operand 0 has shape (3, 2): its subscripts are for 3 axes or more", TypeError);
  CHECK_THROWS_WITH_AS(F::einsum("ij", {int_ones({2, 2})}), "F::einsum: operand 0 has dtype int64: it must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::einsum("ij", {Variable()}), "F::einsum: operand 0 is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(F::einsum("ij,jk", {c}), "F::einsum: there are subscripts for 2 operands but 1 operands",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::einsum("i1", {c}),
                       "F::einsum: '1' in \"i1\": subscripts are letters, commas, \"...\" and one \"->\"", ValueError);
  CHECK_THROWS_AS(F::einsum("i..", {c}), ValueError);
  CHECK_THROWS_AS(F::einsum("ij-", {c}), ValueError);
  CHECK_THROWS_WITH_AS(F::einsum("ij->i->j", {c}), "F::einsum: \"ij->i->j\" has more than one \"->\"", ValueError);
  CHECK_THROWS_WITH_AS(F::einsum("ij->ii", {c}), "F::einsum: i comes twice in the result", ValueError);
  CHECK_THROWS_WITH_AS(F::einsum("ij->k", {c}), "F::einsum: k is in the result but in no operand", ValueError);
  CHECK_THROWS_WITH_AS(F::einsum("ij->...", {c}), "F::einsum: ... is in the result but in no operand", ValueError);
  CHECK_THROWS_WITH_AS(F::einsum("...j->j", {c}),
                       "F::einsum: ... must be in the result: axes are summed by their letters", ValueError);
  CHECK_THROWS_WITH_AS(F::einsum("...j...", {c}), "F::einsum: an operand has more than one \"...\"", ValueError);
  CHECK_THROWS_AS(F::einsum("ij->i,j", {c}), ValueError);
}

}  // namespace
}  // namespace kusari
