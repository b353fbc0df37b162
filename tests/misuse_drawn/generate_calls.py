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

# Folders whose public headers are drawn from, and single headers.
FOLDERS = ("framework/functions/", "framework/links/", "framework/initializers/")
HEADERS = ("framework/core/array.h", "framework/autograd/variable.h")
# Namespaces whose functions are called, with what users call them.
NAMESPACES = {
    "kusari": "",
    "kusari::functions": "F::",
    "kusari::links": "L::",
    "kusari::initializers": "initializers::",
    "kusari::random": "random::",
    "kusari::utils": "utils::",
}
# Classes of objects that are drawn themselves and whose methods are called. Of other classes each constructor is called.
VALUES = ("Array", "Variable")
# What is left out, and why.
LEFT_OUT = {
    # Memory that the caller answers for.
    "from_host": "takes an address",
    "from_external": "takes an address",
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
    "L::Classifier": "wraps a model",
    "L::classifier": "wraps a model",
    "copy": "takes a model",
    "repeat": "takes a model",
    "with_hook": "takes a model",
    "operator +(const Sequential& a, const Sequential& b)": "joins models",
    "to_string(Link& link)": "takes a model",
    "L::DecorrelatedBatchNormalization::serialize": "takes a file: tests/serializers",
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
}
# Methods that Link gives each link are tested with models: tests/links.
BASES_NOT_CALLED = {"Link", "Chain", "Parameter", "LinkHook"}
# Made rarely, because each takes long.
RARE = ("L::GoogLeNet", "L::MobileNetV2", "L::ResNet", "L::CifarCnn", "L::InvertedResidual")

TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<op>::|\.\.\.|->|&&|\|\||\#\#|[-+*/<>=!|&^%~]=?|.)""",
    re.VERBOSE,
)
OPENING = {"(": ")", "[": "]", "{": "}"}


class Unreadable(Exception):
    pass


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def tokens_of(text):
    return [m.group() for m in TOKEN.finditer(text) if m.lastgroup != "space"]


def read_tokens(path):
    """The tokens of a header, its own macros expanded."""
    text = without_comments(path.read_text()).replace("\\\n", " ")
    macros = {}
    lines = []
    for line in text.split("\n"):
        if not line.lstrip().startswith("#"):
            lines.append(line)
            continue
        define = re.match(r"\s*#\s*define\s+(\w+)\(([^)]*)\)(.*)", line)
        if define:
            macros[define.group(1)] = ([p.strip() for p in define.group(2).split(",")], tokens_of(define.group(3)))
    return expand(tokens_of("\n".join(lines)), macros)


def expand(tokens, macros):
    out = []
    i = 0
    while i < len(tokens):
        if tokens[i] not in macros or i + 1 == len(tokens) or tokens[i + 1] != "(":
            out.append(tokens[i])
            i += 1
            continue
        parameters, body = macros[tokens[i]]
        end = skip(tokens, i + 1)
        arguments = split(tokens[i + 2 : end - 1])
        values = dict(zip(parameters, arguments))
        made = []
        for token in body:
            made.extend(values.get(token, [token]))
        while "##" in made:
            at = made.index("##")
            made[at - 1 : at + 2] = [made[at - 1] + made[at + 1]]
        out.extend(expand(made, macros))
        i = end
    return out


def skip(tokens, i):
    """The place behind the bracket that closes the one at i."""
    stack = []
    while i < len(tokens):
        token = tokens[i]
        if token in OPENING:
            stack.append(OPENING[token])
        elif token in OPENING.values():
            if stack.pop() != token:
                raise Unreadable("brackets do not match")
            if not stack:
                return i + 1
        i += 1
    raise Unreadable("a bracket is not closed")


def skip_angles(tokens, i):
    """The place behind the > that closes the < at i."""
    depth = 0
    while i < len(tokens):
        if tokens[i] in OPENING:
            i = skip(tokens, i)
            continue
        depth += {"<": 1, ">": -1}.get(tokens[i], 0)
        i += 1
        if depth == 0:
            return i
    raise Unreadable("< is not closed")


def split(tokens, separator=","):
    """The parts between separators that no bracket encloses."""
    parts = [[]]
    i = 0
    while i < len(tokens):
        if tokens[i] in OPENING:
            end = skip(tokens, i)
        elif tokens[i] == "<" and parts[-1] and "=" not in parts[-1]:
            end = skip_angles(tokens, i)
        elif tokens[i] == separator:
            parts.append([])
            i += 1
            continue
        else:
            end = i + 1
        parts[-1].extend(tokens[i:end])
        i = end
    return [part for part in parts if part]


def is_name(token):
    return re.fullmatch(r"[A-Za-z_]\w*", token) is not None


def text_of(tokens):
    text = ""
    for token in tokens:
        if text and re.match(r"\w", token) and re.search(r"[\w>&*,]$", text):
            text += " "
        text += token
    return text


class Parameter:
    def __init__(self, tokens):
        at = next((i for i, token in enumerate(tokens) if token == "="), len(tokens))
        declared = tokens[:at]
        self.is_pack = "..." in declared
        declared = [t for t in declared if t != "..."]
        if "(" in [t for t in declared if t in "(["] and "function" not in declared:
            raise Unreadable("a parameter " + text_of(declared))
        self.name = "unnamed"
        if len(declared) > 1 and is_name(declared[-1]) and declared[-2] not in ("::", "const"):
            self.name = declared[-1]
            declared = declared[:-1]
        self.spelled = text_of(declared) + " " + self.name
        self.is_mutable_reference = declared[-1] == "&" and declared[0] != "const"
        if declared[0] == "const" and declared[-1] != "*":
            declared = declared[1:]
        while declared[-1] in ("&", "&&"):
            declared = declared[:-1]
        self.type = declared


class Function:
    def __init__(self, name, parameters, template, is_static):
        self.name = name
        self.parameters = parameters
        self.template = template
        self.is_static = is_static

    def spelled(self):
        return self.name + "(" + ", ".join(p.spelled for p in self.parameters) + ")"


class Class:
    def __init__(self, name, namespace, header):
        self.name = name
        self.namespace = namespace
        self.header = header
        self.bases = []
        self.constructors = []
        self.methods = []
        self.fields = []
        self.aliases = set()
        self.is_abstract = False
        self.declares_constructor = False
        self.has_private_members = False


class Reader:
    """What the headers declare."""

    def __init__(self):
        self.functions = []  # (namespace, header, Function)
        self.classes = []
        self.enums = []  # (qualified name, enumerators)
        self.errors = []

    def read(self, path, header, is_public):
        self.header = header
        self.is_public = is_public
        self.scope(read_tokens(path), "")

    def scope(self, tokens, namespace):
        i = 0
        while i < len(tokens):
            i = self.declaration(tokens, i, namespace, None, "public")

    def declaration(self, tokens, i, namespace, owner, access):
        """Reads one declaration and returns the place behind it."""
        template = []
        while tokens[i] == "template":
            end = skip_angles(tokens, i + 1)
            template += split(tokens[i + 2 : end - 1])
            i = end
            if tokens[i] == "requires":
                i = self.requirement(tokens, i + 1)
        token = tokens[i]
        if token == ";":
            return i + 1
        if token == "namespace":
            return self.a_namespace(tokens, i, namespace)
        if token in ("using", "typedef", "friend", "static_assert", "extern", "concept"):
            end = i
            while tokens[end] != ";" and not (token == "friend" and tokens[end] == "{"):
                end = skip(tokens, end) if tokens[end] in OPENING else end + 1
            if token == "using" and tokens[i + 2] == "=" and owner is not None and access == "public":
                owner.aliases.add(tokens[i + 1])
            return skip(tokens, end) if tokens[end] == "{" else end + 1
        if token in ("class", "struct", "enum", "union"):
            kind = self.a_type(tokens, i, namespace, owner, access, template)
            if kind is not None:
                return kind
        return self.a_member(tokens, i, namespace, owner, access, template)

    def requirement(self, tokens, i):
        while True:
            if tokens[i] == "(":
                i = skip(tokens, i)
            elif tokens[i] == "requires":
                i += 1
                if tokens[i] == "(":
                    i = skip(tokens, i)
                i = skip(tokens, i)
            else:
                while is_name(tokens[i]) or tokens[i] in ("::", "!"):
                    i += 1
                    if tokens[i] == "<":
                        i = skip_angles(tokens, i)
                        if tokens[i] != "::":
                            break
            if tokens[i] not in ("&&", "||"):
                return i
            i += 1

    def a_namespace(self, tokens, i, namespace):
        end = i + 1
        while tokens[end] not in ("{", ";"):
            end += 1
        if tokens[end] == ";":
            return end + 1
        close = skip(tokens, end)
        name = text_of(tokens[i + 1 : end])
        inner = namespace + ("::" if namespace and name else "") + name
        if "detail" not in inner.split("::"):
            self.scope(tokens[end + 1 : close - 1], inner)
        return close

    def a_type(self, tokens, i, namespace, owner, access, template):
        """A class or enumeration; None for something that only begins like one."""
        kind = tokens[i]
        head = i + 1
        if kind == "enum" and tokens[head] in ("class", "struct"):
            head += 1
        names = []
        while is_name(tokens[head]) or tokens[head] in ("::", "<"):
            if tokens[head] == "<":
                head = skip_angles(tokens, head)  # a specialization
                names.append("<>")
                continue
            names.append(tokens[head])
            head += 1
        names = [n for n in names if n not in ("KUSARI_API", "final")]
        if tokens[head] not in ("{", ":", ";"):
            return None
        if tokens[head] == ";":
            return head + 1
        bases = []
        if tokens[head] == ":":
            begin = head + 1
            while tokens[head] != "{":
                head = skip_angles(tokens, head) if tokens[head] == "<" else head + 1
            bases = [[t for t in part if t not in ("public", "virtual")] for part in split(tokens[begin:head])]
        close = skip(tokens, head)
        body = tokens[head + 1 : close - 1]
        name = names[-1] if names else ""
        outer = namespace + ("::" + owner.name if owner is not None else "")
        if access == "public" and "<>" not in names and name:
            if kind == "enum":
                self.enums.append((outer + "::" + name, [part[0] for part in split(body)], self.header))
            elif owner is None:
                self.classes.append(self.a_class(name, outer, bases, body, kind == "struct"))
                self.classes[-1].is_template = bool(template)
        if owner is not None:
            owner.aliases.add(name)
            if tokens[close] != ";":  # struct {..} member;
                owner.has_private_members = True
        end = close
        while tokens[end] != ";":
            end += 1
        return end + 1

    def a_class(self, name, namespace, bases, body, is_struct):
        made = Class(name, namespace, self.header)
        made.is_public_header = self.is_public
        made.bases = [text_of(base) for base in bases if "private" not in base and "protected" not in base]
        access = "public" if is_struct else "private"
        i = 0
        while i < len(body):
            if body[i] in ("public", "protected", "private") and body[i + 1] == ":":
                access = body[i]
                i += 2
                continue
            i = self.declaration(body, i, namespace, made, access)
        return made

    def a_member(self, tokens, i, namespace, owner, access, template):
        """A function or a variable."""
        begin = i
        if tokens[i] == "requires":
            begin = i = self.requirement(tokens, i + 1)
        end = i
        at = None  # of the parameter list
        has_initializers = False
        body = None
        while tokens[end] != ";":
            token = tokens[end]
            if token == "operator" and at is None:
                end += 1
                while tokens[end] != "(" or tokens[end + 1 : end + 3] == [")", "("]:
                    end += 1 if tokens[end] != "(" else 2
                at = end
                end = skip(tokens, end)
                continue
            if token == "<" and end > begin and is_name(tokens[end - 1]) and at is None:
                end = skip_angles(tokens, end)
            elif token == "(" and at is None and "=" not in tokens[begin:end]:
                at = end
                end = skip(tokens, end)
            elif token == ":" and at is not None:
                has_initializers = True
                end += 1
            elif token == "{":
                # The braces of a constructor's initializer follow a name; a body follows ")" or "}".
                if at is not None and not (has_initializers and (is_name(tokens[end - 1]) or tokens[end - 1] == ">")):
                    body = end
                    end = skip(tokens, end)
                    break
                end = skip(tokens, end)
            elif token in OPENING:
                end = skip(tokens, end)
            else:
                end += 1
        behind = end if body is not None else end + 1
        if at is None:
            if owner is not None and access != "public":
                owner.has_private_members = True
            elif owner is not None:
                self.a_field(tokens[begin:end], owner)
            return behind
        close = skip(tokens, at)
        tail = tokens[close : body if body is not None else end]
        try:
            self.a_function(tokens[begin:at], tokens[at + 1 : close - 1], tail, namespace, owner, access, template)
        except Unreadable as error:
            if self.is_public:
                self.errors.append((namespace, owner, tokens[begin:at], str(error), self.header, access))
        return behind

    def a_field(self, tokens, owner):
        if tokens[0] in ("static", "constexpr", "inline") or "constexpr" in tokens[:3]:
            return
        for part in split(tokens):
            at = next((i for i, t in enumerate(part) if t in ("=", "{", "[")), len(part))
            owner.fields.append(part[at - 1])

    def a_function(self, head, parameters, tail, namespace, owner, access, template):
        if "=" in tail and tail[tail.index("=") + 1] == "delete":
            return
        if "=" in tail and tail[tail.index("=") + 1] == "0" and owner is not None:
            owner.is_abstract = True
        if "operator" in head:
            where = head.index("operator")
            name = "operator " + "".join(head[where + 1 :])
        else:
            where = len(head) - 1
            name = head[-1]
        kinds = head[:where]
        if owner is None:
            if not self.is_public or namespace not in NAMESPACES or head[where - 1] == "::":
                return
            if not ({"KUSARI_API", "inline"} & set(kinds) or template):
                return  # not for users: the library does not export it
            made = [Parameter(p) for p in split(parameters)]
            self.functions.append((namespace, self.header, Function(name, made, template, False)))
            return
        if "~" in head:
            return
        if name == owner.name:
            owner.declares_constructor = True
            if access != "public" or "=" in tail[:1]:
                return
            made = [Parameter(p) for p in split(parameters)]
            if len(made) == 1 and made[0].type == [owner.name]:
                return  # copy and move
            owner.constructors.append(Function(name, made, template, False))
            return
        if access != "public" or "friend" in kinds or (name.startswith("operator") and name != "operator ()"):
            return
        made = [Parameter(p) for p in split(parameters)]
        owner.methods.append(Function(name, made, template, "static" in kinds))


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
        if self.is_left_out(name) or c.is_abstract or not c.declares_constructor:
            return
        if c.is_template:
            self.unreadable.append(f"{c.header}: {name}: a class template")
            return
        for constructor in c.constructors:
            self.add(c.namespace, NAMESPACES[c.namespace] + constructor.spelled(), constructor, c)
        for method in c.methods:
            if method.is_static and not self.is_left_out(name + "::" + method.name):
                self.add(c.namespace, name + "::" + method.spelled(), method, c)

    def methods_of(self, c):
        """Those that an object has, without what is hidden."""
        methods = list(c.methods)
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
            kind = text_of(drawn)
            if drawn[:3] == ["std", "::", "initializer_list"]:
                # Its length is part of the program.
                element = text_of(drawn[4:-1])
                lines.append(f'{indent}auto {letter}{i} = draw.make<std::array<{element}, 2>>("{parameter.name}");')
                names.append(f"std::initializer_list<{element}>{{{letter}{i}[0], {letter}{i}[1]}}")
                continue
            lines.append(f'{indent}auto {letter}{i} = draw.make<{kind}>("{parameter.name}");')
            names.append(f"{letter}{i}")
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


def fields_header(reader):
    lines = ["// Written by generate_calls.py.", "#pragma once", "", '#include "fields_of.h"', '#include "kusari/kusari.h"', ""]
    lines.append("namespace kusari::misuse_drawn {")
    for c in reader.classes:
        if not c.fields or c.is_template or c.declares_constructor or c.has_private_members or c.bases or c.is_abstract:
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
    reader = Reader()
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
