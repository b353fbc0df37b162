#include <vector>

#include "kusari/framework/links/loss/binary_hierarchical_softmax.h"
#include "kusari/framework/links/loss/black_out.h"
#include "kusari/framework/links/loss/crf1d.h"
#include "kusari/framework/links/loss/negative_sampling.h"
#include "kusari/tests/golden_runner/crf_path.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

L::BinaryTree tree(const Json& json) {
  if (json.is_number()) return L::BinaryTree(json.get<int64_t>());
  return L::BinaryTree(tree(json.at(0)), tree(json.at(1)));
}

// Gives the samples that the notes of the cases name instead of drawing.
F::Sampler fixed(std::vector<int32_t> samples) {
  return [samples](const Shape& shape) { return array(samples, shape); };
}

template <class T>
LinkUnderTest link_of_x_and_t(T link) {
  return link_under_test(std::move(link), [](T& self, Args& args) { return self(args.var("x"), args.var("t")); });
}

}  // namespace

void add_loss_links(LinkTable& table) {
  table.insert({
      {"BinaryHierarchicalSoftmax",
       [](Args& a) {
         return link_of_x_and_t(L::BinaryHierarchicalSoftmax(a.integer("in_size", 0), tree(a.raw("tree"))));
       }},
      {"BlackOut",
       [](Args& a) {
         return link_of_x_and_t(L::BlackOut(a.integer("in_size", 0), a.integers("counts"), a.integer("sample_size", 0),
                                            {.sampler = fixed({4, 3, 2, 3, 4, 1})}));
       }},
      {"CRF1d",
       [](Args& a) {
         return with_method<L::CRF1d>(
             link_under_test(L::CRF1d(a.integer("n_label", 0)),
                             [](L::CRF1d& link, Args& args) {
                               const std::vector<Variable> xs = args.vars("xs"), ys = args.vars("ys");
                               return link(xs, ys, {.transpose = args.flag("transpose", false)});
                             }),
             "argmax", [](L::CRF1d& link, Args& args) {
               const std::vector<Variable> xs = args.vars("xs");
               return flat(link.argmax(xs, args.flag("transpose", false)));
             });
       }},
      {"NegativeSampling",
       [](Args& a) {
         L::NegativeSampling link(a.integer("in_size", 0), a.integers("counts"), a.integer("sample_size", 0),
                                  {.sampler = fixed({4, 0, 4, 2, 0, 3, 1, 2, 0, 2, 1, 1})});
         return link_under_test(std::move(link), [](L::NegativeSampling& self, Args& args) {
           if (args.text("reduce", "sum") != "sum") throw std::runtime_error("reduce");
           return self(args.var("x"), args.var("t"));
         });
       }},
  });
}

}  // namespace kusari::golden
