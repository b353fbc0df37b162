#!/usr/bin/env python3
"""Writes a call with drawn arguments for each public function, method and link that the headers declare.

generate_calls.py SOURCE_DIR OUTPUT_DIR [PARTS]

reads the headers that framework/kusari.h includes and writes calls_1.cc .. calls_PARTS.cc, entries.cc and fields.h. A declaration
that is new is called without an edit here. One that this program cannot read, or whose arguments draw.h cannot draw,
stops the build with its name.
"""

import pathlib
import re
import sys

from header_reader import Reader, Unreadable, skip_angles, text_of

# Folders whose public headers are drawn from, and single headers.
FOLDERS = ("framework/functions/", "framework/xp/", "framework/distributions/", "framework/links/", "framework/initializers/",
           "framework/distributed/functions/", "framework/datasets/", "iterators/")
HEADERS = ("framework/core/array.h", "framework/core/random.h", "framework/kernels/axes.h", "framework/kernels/array_math.h", "framework/autograd/variable.h")
# Of these, options and enumerations alone.
TYPES = ("framework/kernels/image_resampling.h",)
# Namespaces whose functions are called, with what users call them.
NAMESPACES = {
    "kusari": "",
    "kusari::xp": "xp::",
    "kusari::functions": "F::",
    "kusari::distributions": "D::",
    "kusari::links": "L::",
    "kusari::initializers": "initializers::",
    "kusari::random": "random::",
    "kusari::utils": "utils::",
    "kusari::distributed::functions": "distributed::functions::",
    "kusari::datasets": "datasets::",
    "kusari::datasets::transforms": "datasets::transforms::",
    "kusari::iterators": "iterators::",
}
# Classes of objects that are drawn themselves and whose methods are called. Of other classes each constructor is called.
VALUES = ("Array", "Variable")
# What is left out, and why.
LEFT_OUT = {
    # Memory that the caller answers for.
    "from_host": "takes an address",
    "from_external": "takes an address",
    "reduced_count": "takes a mask of axes, as kernels have it",
    "Array::data": "for backends",
    "Array::raw_data": "for backends",
    "Array::storage": "for backends",
    "Array::mark_written": "for backends",
    "Array::expose": "for backends",
    "Array::attach": "for backends",
    "Array::offset": "for backends",
    # Engine.
    "Variable::node": "for the engine",
    "Variable::creator": "for the engine",
    # Templates over what users write themselves.
    "F::forget": "takes a callable: see calls_by_hand.cc",
    "D::Distribution": "is abstract",
    "D::DistributionOf": "is a base",
    "D::Independent": "takes a distribution: see calls_by_hand.cc",
    "D::kl_divergence": "takes distributions: see calls_by_hand.cc",
    "D::cross_entropy": "takes distributions: see calls_by_hand.cc",
    "D::register_kl": "takes a callable",
    "D::ParameterValue": "is drawn as a parameter",
    "xp::Items": "is what xp::at returns",
    "xp::at": "takes any number of indices: see get_item and set_item",
    "summary": "takes a model",
    "L::Classifier": "wraps a model",
    "L::classifier": "wraps a model",
    "copy": "takes a model",
    "repeat": "takes a model",
    "with_hook": "takes a model",
    "operator +(const Sequential& a, const Sequential& b)": "joins models",
    "to_string(Link& link)": "takes a model",
    "states": "takes a model",
    "unchain_states": "takes a model",
    "reset_states": "takes a model",
    "operator +=": "is operator + and an assignment",
    "operator -=": "is operator - and an assignment",
    "operator *=": "is operator * and an assignment",
    "operator /=": "is operator / and an assignment",
    "operator <<": "writes to a stream",
    # Models that take seconds to make; they are made of links and functions that are called.
    "L::VGG16Layers": "half a gigabyte of parameters",
    "L::VGG19Layers": "half a gigabyte of parameters",
    "L::ResNet34": "like ResNet18",
    "L::ResNet101": "like ResNet50",
    "L::ResNet152": "like ResNet50",
    "L::ResNet101Layers": "like ResNet50Layers",
    "L::ResNet152Layers": "like ResNet50Layers",
    "L::VisionModel::prepare": "drawn as L::prepare",
    "L::RetinaNet": "takes seconds to make",
    "L::EfficientDet": "takes seconds to make",
    "L::SSD300": "takes seconds to make",
    "L::VGG16Extractor300": "takes seconds to make",
    "L::DetectionTrainChain": "wraps a model",
    # Data sets and what reads them.
    "random::serialize": "takes a file",
    "datasets::DatasetRef": "is drawn itself",
    "datasets::Converter": "takes callables",
    "datasets::ColumnSource": "is drawn itself",
    "datasets::RowSelection": "is drawn itself",
    "datasets::TabularView": "is drawn itself: see DelegateDataset",
    "datasets::TabularDataset::get_examples": "is called with indices in range",
    "datasets::DelegateDataset::get_examples": "is called with indices in range",
    "datasets::TransformDataset(DatasetRef dataset, F transform, std::optional<Keys> keys)": "takes what users write",
    "datasets::TupleDataset(const Array& first, const Arrays& rest)": "takes any number: see the one of an Example",
    "datasets::transforms::on_image": "takes what users write",
    "datasets::transforms::on_boxes": "takes what users write",
    "datasets::transforms::Compose": "takes what users write",
    "datasets::get_stroke_digits": "takes seconds to make",
    "datasets::find_dataset_file": "for data sets",
    "datasets::create_cached_file": "writes a file",
    "datasets::cache_or_load_file": "writes a file",
    "datasets::cache_dataset": "writes a file",
    "datasets::ExampleFileWriter": "writes a file",
    "datasets::save_png": "writes a file",
    "datasets::get_dataset_directory": "makes a folder",
    "datasets::set_dataset_root": "is the process's",
    "datasets::cached_download": "downloads",
    "datasets::get_mnist": "downloads",
    "datasets::get_fashion_mnist": "downloads",
    "datasets::get_kuzushiji_mnist": "downloads",
    "datasets::get_cifar10": "downloads",
    "datasets::get_cifar100": "downloads",
    "datasets::get_svhn": "downloads",
    "datasets::get_ptb_words": "downloads",
    "datasets::get_ptb_words_vocabulary": "downloads",
    "datasets::get_wikitext2_words": "downloads",
    "datasets::get_wikitext2_words_vocabulary": "downloads",
    "datasets::get_tiny_shakespeare": "downloads",
    "iterators::DatasetIterator::dataset": "returns what it was given",
    "iterators::MultiprocessIterator": "starts processes",
    "iterators::EpochState": "for iterators",
    "iterators::failure_of": "for iterators",
    "iterators::failure_text": "for iterators",
    "iterators::throw_failure": "for iterators",
    "L::freeze_batch_normalization": "takes a model",
}
# Methods that Link gives each link are tested with models: tests/links.
BASES_NOT_CALLED = {"Link", "Chain", "Parameter", "LinkHook"}
# Made rarely, because each takes long.
RARE = ("L::GoogLeNet", "L::MobileNetV2", "L::ResNet", "L::CifarCnn", "L::InvertedResidual", "L::SegNetBasic", "L::TransformerLM",
        "L::EfficientNet", "L::MBConv", "L::BiFPN")


def list_of_two(tokens, name):
    """What is drawn for a parameter of this type, and how the argument is spelled: initializer lists, whose length is
    part of the program, have two elements."""
    if tokens[:3] != ["std", "::", "initializer_list"]:
        return text_of(tokens), name
    elements = [list_of_two(tokens[4:-1], f"{name}[{k}]") for k in range(2)]
    arguments = ", ".join(argument for _, argument in elements)
    return f"std::array<{elements[0][0]}, 2>", f"{text_of(tokens)}{{{arguments}}}"


class Writer:
    def __init__(self, reader, left_out):
        self.reader = reader
        self.left_out = left_out
        self.by_name = {}
        for c in reader.classes:
            self.by_name.setdefault(c.name, c)
        self.entries = []  # (name, namespace, is_rare, code)
        self.unreadable = []
        self.used = set()

    def is_left_out(self, name):
        if name in self.left_out:
            self.used.add(name)
            return True
        return False

    def collect(self):
        for namespace, owner, head, text, header, access in self.reader.errors:
            prefix = NAMESPACES.get(namespace)
            if prefix is None or access != "public" or (owner is not None and self.is_left_out(prefix + owner.name)):
                continue
            name = prefix + (owner.name + "::" if owner is not None else "") + head[-1]
            if not self.is_left_out(name):
                self.unreadable.append(f"{header}: {name}: {text}")
        for namespace, _, function in self.reader.functions:
            name = NAMESPACES[namespace] + function.name
            spelled = NAMESPACES[namespace] + function.spelled()
            if not self.is_left_out(name) and not self.is_left_out(spelled):
                self.add(namespace, spelled, function, None)
        for c in self.reader.classes:
            if c.namespace not in NAMESPACES or not c.is_public_header:
                continue
            self.add_class(c)
        for name in sorted(set(self.left_out) - self.used):
            self.unreadable.append(f"{name} is left out, but there is no such declaration")

    def add_class(self, c):
        name = NAMESPACES[c.namespace] + c.name
        if c.namespace == "kusari":
            if c.name in VALUES:
                for method in c.methods:
                    if not self.is_left_out(name + "::" + method.name):
                        self.add(c.namespace, name + "::" + method.spelled(), method, c)
            return
        if self.is_left_out(name) or c.is_abstract:
            return
        if is_aggregate(c) and any(m.name == "operator ()" for m in c.methods):
            code = [f'  const auto object = std::make_unique<{c.name}>(draw.make<{c.name}>("self"));'] + self.method_calls(c)
            self.entries.append((name, c.namespace, False, code))
        if not c.declares_constructor:
            return
        if c.is_template:
            self.unreadable.append(f"{c.header}: {name}: a class template")
            return
        for constructor in c.constructors:
            spelled = NAMESPACES[c.namespace] + constructor.spelled()
            if not self.is_left_out(spelled):
                self.add(c.namespace, spelled, constructor, c)
        for method in c.methods:
            if method.is_static and not self.is_left_out(name + "::" + method.name):
                self.add(c.namespace, name + "::" + method.spelled(), method, c)

    def methods_of(self, c):
        """Those that an object has, without what is hidden. `serialize` takes a file: tests/serializers."""
        methods = [m for m in c.methods if m.name != "serialize"]
        hidden = {m.name for m in methods}
        for base in c.bases:
            inherited = self.by_name.get(base.split("::")[-1])
            if inherited is None or inherited.name in BASES_NOT_CALLED:
                continue
            methods += [m for m in self.methods_of(inherited) if m.name not in hidden]
        prefix = NAMESPACES[c.namespace] + c.name + "::"
        return [m for m in methods if not m.is_static and not self.is_left_out(prefix + m.name)]

    def aliases_of(self, c):
        names = set(c.aliases)
        for base in c.bases:
            if base.split("::")[-1] in self.by_name:
                names |= self.aliases_of(self.by_name[base.split("::")[-1]])
        return names

    def substitutions(self, function):
        """What stands for the parameters of a template, and which of them must be spelled."""
        values = {}
        spelled = []
        for parameter in function.template:
            name = parameter[-1]
            if "=" in parameter:
                name = parameter[parameter.index("=") - 1]
            if "..." in parameter:
                values[name] = ["Variable"]
            elif parameter[0] in ("class", "typename"):
                values[name] = ["double"]
                if not any(name in p.type for p in function.parameters):
                    spelled.append("double")
            elif "<" in parameter:  # std::convertible_to<PerAxis> Size
                values[name] = parameter[parameter.index("<") + 1 : skip_angles(parameter, parameter.index("<")) - 1]
            elif parameter[0] == "int" and parameter[1:2] == ["="]:
                continue  # a template for the sake of overloading alone
            elif "ElementType" in parameter:
                values[name] = ["double"]
            else:
                raise Unreadable("the template parameter " + text_of(parameter))
        return values, spelled

    def arguments(self, function, owner, indent, letter="a"):
        """Lines that draw the arguments, their names, and template arguments to spell."""
        values, spelled = self.substitutions(function)
        aliases = self.aliases_of(owner) if owner is not None else set()
        lines = []
        names = []
        for i, parameter in enumerate(function.parameters):
            drawn = []
            for k, token in enumerate(parameter.type):
                if token in values:
                    drawn += values[token]
                elif token in aliases and (k == 0 or parameter.type[k - 1] != "::"):
                    drawn += [owner.name, "::", token]
                else:
                    drawn.append(token)
            kind, argument = list_of_two(drawn, f"{letter}{i}")
            lines.append(f'{indent}auto {letter}{i} = draw.make<{kind}>("{parameter.name}");')
            names.append(argument)
        return lines, names, spelled

    def add(self, namespace, name, function, owner):
        try:
            lines, names, spelled = self.arguments(function, owner, "  ")
        except Unreadable as error:
            self.unreadable.append(f"{name}: {error}")
            return
        explicit = "<" + ", ".join(spelled) + ">" if spelled else ""
        is_made = owner is not None and owner.name not in VALUES and not function.is_static
        code = []
        if owner is not None and owner.name in VALUES and not function.is_static:
            code.append(f'  auto self = draw.make<{owner.name}>("self");')
            call = f"self.{function.name.replace('operator ', 'operator')}"
        elif function.is_static:
            call = f"{owner.name}::{function.name}"
        else:
            call = function.name
        code += lines
        if is_made:
            made = f"std::make_unique<{owner.name}>({', '.join(names)})"
            code.append(f"  const auto object = draw.call([&] {{ return {made}; }});")
            code += self.method_calls(owner)
        elif call.startswith("operator "):
            symbol = call.removeprefix("operator ")
            expression = f" {symbol} ".join(names) if len(names) == 2 else symbol + names[0]
            code.append(f"  draw.call([&]() -> decltype(auto) {{ return {expression}; }});")
        else:
            # Qualified: functions are not to be found through their arguments.
            where = "" if owner is not None else namespace + "::"
            code.append(f"  draw.call([&]() -> decltype(auto) {{ return {where}{call}{explicit}({', '.join(names)}); }});")
        self.entries.append((name, namespace, name.startswith(RARE), code))

    def method_calls(self, owner):
        code = []
        for method in self.methods_of(owner):
            lines, names, spelled = self.arguments(method, owner, "        ", "b")
            explicit = "<" + ", ".join(spelled) + ">" if spelled else ""
            code.append(f"      case {len(code)}: {{  // {method.name}")
            code[-1] += "\n" + "\n".join(
                [f'        draw.next("{method.spelled()}");']
                + lines
                + [
                    f"        draw.call([&]() -> decltype(auto) {{ return object->{method.name.replace('operator ', 'operator')}"
                    f"{explicit}({', '.join(names)}); }});",
                    "        break;",
                    "      }",
                ]
            )
        if not code:
            return []
        weights = [("operator ()" == m.name) for m in self.methods_of(owner)]
        first = ", ".join("4" if w else "1" for w in weights)
        return [
            "  for (int times = draw.count_of_calls(); times > 0; --times) {",
            f"    switch (draw.weighted({{{first}}})) {{",
            *code,
            "      default:",
            "        break;",
            "    }",
            "  }",
        ]


def is_aggregate(c):
    return c.fields and not (c.is_template or c.declares_constructor or c.has_private_members or c.bases or c.is_abstract)


def fields_header(reader):
    lines = ["// Written by generate_calls.py.", "#pragma once", "", '#include "fields_of.h"', '#include "kusari/kusari.h"', ""]
    lines.append("namespace kusari::misuse_drawn {")
    for c in reader.classes:
        if not is_aggregate(c):
            continue
        if not c.is_public_header and c.namespace not in NAMESPACES:
            continue
        if c.namespace not in NAMESPACES:
            continue
        name = f"{c.namespace}::{c.name}"
        visits = " ".join(f'visit("{f}", value.{f});' for f in c.fields)
        lines += [
            "template <>",
            f"struct FieldsOf<{name}> {{",
            "  static constexpr bool kKnown = true;",
            "  template <class Visit>",
            f"  static void each({name}& value, Visit&& visit) {{ {visits} }}",
            "};",
        ]
    for name, values in reader.enums:
        if name.rsplit("::", 1)[0] not in NAMESPACES:
            continue
        listed = ", ".join(f"{name}::{v}" for v in values)
        lines += [
            "template <>",
            f"struct EnumeratorsOf<{name}> {{",
            f"  static constexpr {name} kValues[] = {{{listed}}};",
            "};",
        ]
    lines += ["}  // namespace kusari::misuse_drawn", ""]
    return "\n".join(lines)


def calls_source(part, entries):
    lines = ["// Written by generate_calls.py.", "#include <array>", "#include <memory>", "", '#include "draw.h"', ""]
    number = 0
    listed = []
    for name, namespace, is_rare, code in entries:
        function = f"call_{part}_{number}"
        number += 1
        listed.append(f'    {{"{name}", {namespace}::{function}, {"true" if is_rare else "false"}}},')
        lines += [
            f"namespace {namespace} {{",
            f"static void {function}([[maybe_unused]] misuse_drawn::Draw& draw) {{",
            *code,
            "}",
            f"}}  // namespace {namespace}",
            "",
        ]
    lines += [
        "namespace kusari::misuse_drawn {",
        f"std::vector<Entry> calls_{part}() {{",
        "  return {",
        *listed,
        "  };",
        "}",
        "}  // namespace kusari::misuse_drawn",
        "",
    ]
    return "\n".join(lines)


def entries_source(parts):
    declared = "\n".join(f"std::vector<Entry> calls_{part + 1}();" for part in range(parts))
    called = ", ".join(f"calls_{part + 1}()" for part in range(parts))
    return f"""// Written by generate_calls.py.
#include "calls_by_hand.h"

namespace kusari::misuse_drawn {{

{declared}

const std::vector<Entry>& entries() {{
  static const std::vector<Entry> all = [] {{
    std::vector<Entry> joined = calls_by_hand();
    for (const auto& part : {{{called}}}) joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }}();
  return all;
}}

}}  // namespace kusari::misuse_drawn
"""


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(source, output, parts, left_out):
    public = [h.removeprefix("kusari/") for h in re.findall(r'#include "(.*)"', (source / "framework/kusari.h").read_text())]
    wanted = [h for h in public if h.startswith(FOLDERS) or h in HEADERS]
    # Options and enumerations may stand in a header of their own.
    others = [str(p.relative_to(source)) for folder in FOLDERS for p in sorted((source / folder).rglob("*.h"))]
    reader = Reader(NAMESPACES)
    others += [h for h in TYPES if (source / h).exists()]
    for header in wanted + [h for h in others if h not in wanted]:
        try:
            reader.read(source / header, header, header in wanted)
        except (Unreadable, IndexError) as error:
            sys.exit(f"generate_calls.py: {header} cannot be read: {error}")
    # Only what the program sees.
    seen = set(wanted)
    queue = list(wanted)
    while queue:
        for included in re.findall(r'#include "kusari/(.*)"', (source / queue.pop()).read_text()):
            if included not in seen:
                seen.add(included)
                queue.append(included)
    reader.classes = [c for c in reader.classes if c.header in seen]
    reader.enums = [e[:2] for e in reader.enums if e[2] in seen]
    writer = Writer(reader, left_out)
    writer.collect()
    if writer.unreadable:
        sys.exit("generate_calls.py: cannot draw calls for\n  " + "\n  ".join(writer.unreadable))
    entries = sorted(writer.entries, key=lambda entry: entry[0])
    output.mkdir(parents=True, exist_ok=True)
    write_if_changed(output / "fields.h", fields_header(reader))
    size = -(-len(entries) // parts)
    write_if_changed(output / "entries.cc", entries_source(parts))
    for part in range(parts):
        text = calls_source(part + 1, entries[part * size : (part + 1) * size])
        write_if_changed(output / f"calls_{part + 1}.cc", text)
    return entries


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    parts = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    generate(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), parts, LEFT_OUT)


if __name__ == "__main__":
    main()
