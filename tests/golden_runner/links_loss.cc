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

// Gives the samples that the case's note has in brackets instead of drawing.
F::Sampler fixed(const LinkArgs& a) {
  const size_t begin = a.note.find('['), end = a.note.rfind(']');
  if (begin == std::string::npos || end == std::string::npos) return nullptr;
  const Json rows = Json::parse(a.note.substr(begin, end + 1 - begin));
  std::vector<int32_t> samples;
  for (const Json& sample : rows.flatten()) samples.push_back(sample.get<int32_t>());
  return [samples](const Shape& shape) {
    if (numel(shape) != static_cast<int64_t>(samples.size())) {
      throw std::runtime_error("the case's note has " + std::to_string(samples.size()) + " samples, not " +
                               to_string(shape));
    }
    return array(samples, shape);
  };
}

template <class T>
LinkUnderTest link_of_x_and_t(T link) {
  return link_under_test(std::move(link), "forward(x, t)",
                         [](T& self, Args& args) { return self(args.var("x"), args.var("t")); });
}

F::Reduce loss_reduce(Args& a) {
  return a.choice<F::Reduce>("reduce", {{"mean", F::Reduce::mean}, {"sum", F::Reduce::sum}, {"no", F::Reduce::no}});
}

LinkUnderTest crf1d(LinkArgs& a) {
  const L::CRF1dOptions options{.initial_cost = initializer_argument(a, "initial_cost", {})};
  return with_method<L::CRF1d>(
      link_under_test(L::CRF1d(a.integer("n_label"), options), "forward(xs, ys, reduce='mean', transpose=False)",
                      [](L::CRF1d& link, Args& args) {
                        const std::vector<Variable> xs = args.vars("xs"), ys = args.vars("ys");
                        return link(xs, ys, {.reduce = loss_reduce(args), .transpose = args.flag("transpose")});
                      }),
      "argmax(xs, transpose=False)", [](L::CRF1d& link, Args& args) {
        const std::vector<Variable> xs = args.vars("xs");
        return flat(link.argmax(xs, args.flag("transpose")));
      });
}

LinkUnderTest negative_sampling_link(LinkArgs& a) {
  const L::NegativeSamplingOptions options{
      .power = a.number("power"), .dtype = a.optional_dtype("dtype"), .sampler = fixed(a)};
  return link_under_test(
      L::NegativeSampling(a.integer("in_size"), a.integers("counts"), a.integer("sample_size"), options),
      "forward(x, t, reduce='sum', *, return_samples=False)", [](L::NegativeSampling& self, Args& args) {
        Array samples;
        const Variable y =
            self(args.var("x"), args.var("t"), {.reduce = loss_reduce(args), .return_samples = &samples});
        return with_extra(args, "return_samples", y, samples);
      });
}

}  // namespace

void add_loss_links(LinkTable& table) {
  table.insert({
      {"BinaryHierarchicalSoftmax",
       [](LinkArgs& a) {
         return link_of_x_and_t(L::BinaryHierarchicalSoftmax(a.integer("in_size"), tree(a.raw("tree")),
                                                             {.dtype = a.optional_dtype("dtype")}));
       }},
      {"BlackOut",
       [](LinkArgs& a) {
         return link_of_x_and_t(
             L::BlackOut(a.integer("in_size"), a.integers("counts"), a.integer("sample_size"), {.sampler = fixed(a)}));
       }},
      {"CRF1d", crf1d},
      {"NegativeSampling", negative_sampling_link},
  });
}

}  // namespace kusari::golden
