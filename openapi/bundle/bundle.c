// Follows the references between the files of the document and puts everything into one.
#include "bundle.h"

#include <stdlib.h>
#include <string.h>

struct bundler {
    const char *directory;
    json_t *files;      // path below the directory -> what the file holds
    json_t *components; // section -> name -> value, as they are met
    json_t *origins;    // "section/name" -> the file it came from, since two files may not give one name
};

// A reference taken apart: the file, and the one name in it.
struct target {
    char file[256];
    char section[64]; // the file's folder: paths, schemas, parameters …
    char name[128];
};

static json_t *file_named(struct bundler *bundler, const char *file)
{
    json_t *known = json_object_get(bundler->files, file);
    if (known != NULL)
        return known;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", bundler->directory, file);
    json_t *value = yaml_read(path);
    json_object_set_new(bundler->files, file, value);
    return value;
}

// Every file but the root lies in a folder, so a reference is `NAME.yaml` beside it or `../FOLDER/NAME.yaml`.
static void locate_file(const char *from, const char *reference, size_t size, struct target *target)
{
    const char *slash = strrchr(from, '/');
    int folder = slash != NULL ? (int)(slash - from) + 1 : 0;
    if (folder > 0 && strncmp(reference, "../", 3) == 0) {
        reference += 3;
        size -= 3;
        folder = 0;
    }
    snprintf(target->file, sizeof target->file, "%.*s%.*s", folder, from, (int)size, reference);
}

static void take_apart(const char *from, const char *reference, struct target *target)
{
    const char *hash = strstr(reference, "#/");
    if (hash == NULL || strchr(hash + 2, '/') != NULL)
        fault(from, 0, "reference %s does not end in #/NAME", reference);
    if (hash == reference)
        snprintf(target->file, sizeof target->file, "%s", from);
    else
        locate_file(from, reference, (size_t)(hash - reference), target);
    snprintf(target->name, sizeof target->name, "%s", hash + 2);

    const char *slash = strchr(target->file, '/');
    if (slash == NULL || slash != strrchr(target->file, '/'))
        fault(from, 0, "reference %s does not lead to a file in a folder", reference);
    snprintf(target->section, sizeof target->section, "%.*s", (int)(slash - target->file), target->file);
}

static json_t *target_value(struct bundler *bundler, const char *from, const struct target *target)
{
    json_t *value = json_object_get(file_named(bundler, target->file), target->name);
    if (value == NULL)
        fault(from, 0, "%s has no %s", target->file, target->name);
    return value;
}

static json_t *bundled(struct bundler *bundler, const char *file, const json_t *value);

static json_t *section_named(struct bundler *bundler, const char *name)
{
    json_t *section = json_object_get(bundler->components, name);
    if (section == NULL) {
        section = json_object();
        json_object_set_new(bundler->components, name, section);
    }
    return section;
}

static void add_component(struct bundler *bundler, const char *from, const struct target *target)
{
    char place[256];
    snprintf(place, sizeof place, "%s/%s", target->section, target->name);
    json_t *origin = json_object_get(bundler->origins, place);
    if (origin != NULL) {
        if (strcmp(json_string_value(origin), target->file) != 0)
            fault(target->file, 0, "%s is also in %s", target->name, json_string_value(origin));
        return;
    }
    // Noted before its own references are followed, since a schema may refer to itself.
    json_object_set_new(bundler->origins, place, json_string(target->file));
    json_t *value = bundled(bundler, target->file, target_value(bundler, from, target));
    json_object_set_new(section_named(bundler, target->section), target->name, value);
}

static json_t *bundled_reference(struct bundler *bundler, const char *file, const char *reference)
{
    struct target target;
    take_apart(file, reference, &target);
    if (strcmp(target.section, "paths") == 0)
        return bundled(bundler, target.file, target_value(bundler, file, &target));
    add_component(bundler, file, &target);
    return json_pack("{s:s+++}", "$ref", "#/components/", target.section, "/", target.name);
}

static json_t *bundled_object(struct bundler *bundler, const char *file, const json_t *object)
{
    const json_t *reference = json_object_get(object, "$ref");
    json_t *result = json_is_string(reference)
                         ? bundled_reference(bundler, file, json_string_value(reference))
                         : json_object();
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)object, name, member)
    {
        if (member != reference)
            json_object_set_new(result, name, bundled(bundler, file, member));
    }
    return result;
}

static json_t *bundled(struct bundler *bundler, const char *file, const json_t *value)
{
    if (json_is_object(value))
        return bundled_object(bundler, file, value);
    if (!json_is_array(value))
        return json_copy((json_t *)value);
    json_t *array = json_array();
    for (size_t i = 0; i < json_array_size(value); i++)
        json_array_append_new(array, bundled(bundler, file, json_array_get(value, i)));
    return array;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names of `object` in order; the caller frees the array, the names stay the object's.
static const char **sorted_names(const json_t *object)
{
    const char **names = calloc(json_object_size(object) + 1, sizeof *names);
    if (names == NULL)
        abort();
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) names[count++] = name;
    qsort(names, count, sizeof *names, compare_names);
    return names;
}

static json_t *sorted(const json_t *object)
{
    json_t *result = json_object();
    const char **names = sorted_names(object);
    for (size_t i = 0; names[i] != NULL; i++)
        json_object_set(result, names[i], json_object_get(object, names[i]));
    free(names);
    return result;
}

// A component nobody refers to would be left out in silence; it is more likely a misspelt name.
static void check_all_used(const struct bundler *bundler)
{
    const char *file;
    json_t *content;
    json_object_foreach(bundler->files, file, content)
    {
        const char *name;
        json_t *value;
        json_object_foreach(content, name, value)
        {
            char place[256];
            snprintf(place, sizeof place, "%.*s/%s", (int)strcspn(file, "/"), file, name);
            if (strncmp(place, "paths/", 6) != 0 && json_object_get(bundler->origins, place) == NULL)
                fault(file, 0, "nothing refers to %s", name);
        }
    }
}

json_t *bundle(const char *directory)
{
    struct bundler bundler = {
        .directory = directory,
        .files = json_object(),
        .components = json_object(),
        .origins = json_object(),
    };
    char path[4096];
    snprintf(path, sizeof path, "%s/openapi.yaml", directory);
    json_t *root = yaml_read(path);
    json_t *document = bundled(&bundler, "openapi.yaml", root);
    check_all_used(&bundler);

    // What the document says itself, which no file has: how to say who one is.
    json_t *components = json_incref(json_object_get(document, "components"));
    if (components == NULL)
        components = json_object();
    const char *section;
    json_t *content;
    json_object_foreach(bundler.components, section, content)
        json_object_set_new(components, section, sorted(content));
    json_object_set_new(document, "components", components);

    json_decref(root);
    json_decref(bundler.files);
    json_decref(bundler.components);
    json_decref(bundler.origins);
    return document;
}
