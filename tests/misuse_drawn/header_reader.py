"""Reads the declarations of headers, as far as generate_calls.py needs them."""

import re

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
        if "(" in [t for t in declared if t in "(["] and "Callable" not in declared:
            raise Unreadable("a parameter " + text_of(declared))
        self.name = "unnamed"
        if len(declared) > 1 and is_name(declared[-1]) and declared[-2] not in ("::", "const"):
            self.name = declared[-1]
            declared = declared[:-1]
        self.spelled = text_of(declared) + " " + self.name
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
    """What the headers declare. `namespaces`: those whose functions are wanted."""

    def __init__(self, namespaces):
        self.namespaces = namespaces
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
            if not self.is_public or namespace not in self.namespaces or head[where - 1] == "::":
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
