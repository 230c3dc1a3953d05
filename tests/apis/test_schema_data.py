from watchkeeper.apis.schema_data import kind_schema, reset_status, resources, schema_data
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.schema import ListType, Omit, SchemaType

POD_SPEC = schema_data().definitions["io.k8s.api.core.v1.PodSpec"]


def test_every_resource_is_of_a_known_kind_and_has_a_list() -> None:
    kinds = schema_data().kinds
    for info in resources():
        assert info.kind in kinds
        if "list" in info.verbs:
            assert info.kind._replace(kind=f"{info.kind.kind}List") in kinds
        for sub in info.subresources:
            assert sub.kind in kinds, (info.gvr, sub.name)


def test_only_stable_versions_are_served() -> None:
    versions = {(i.gvr.group, i.gvr.version) for i in resources()}
    assert {version for _, version in versions} == {"v1", "v2"}
    assert [version for group, version in versions if version == "v2"] == ["v2"]
    assert ("autoscaling", "v2") in versions
    assert ("resource.k8s.io", "v1") in versions


def test_resources_carry_names_scope_and_subresources() -> None:
    by_name = {(i.gvr.group, i.gvr.resource): i for i in resources()}
    deployments = by_name["apps", "deployments"]
    assert deployments.short_names == ("deploy",)
    assert deployments.categories == ("all",)
    assert [s.name for s in deployments.subresources] == ["scale", "status"]
    assert deployments.subresources[0].kind == GroupVersionKind("autoscaling", "v1", "Scale")
    assert not by_name["", "nodes"].namespaced
    assert "deletecollection" not in by_name["", "namespaces"].verbs


def test_fields_carry_how_they_merge() -> None:
    containers = POD_SPEC.fields["containers"]
    assert containers.required
    assert containers.omit is Omit.NEVER
    assert containers.patch_strategy == {"merge"}
    assert containers.patch_merge_key == "name"
    assert containers.schema.list_type is ListType.MAP
    assert containers.schema.list_map_keys == ("name",)
    assert POD_SPEC.fields["volumes"].patch_strategy == {"merge", "retainKeys"}
    assert POD_SPEC.fields["tolerations"].schema.list_type is ListType.ATOMIC
    finalizers = schema_data().definitions["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"].fields["finalizers"]
    assert finalizers.schema.list_type is ListType.SET


def test_keys_of_lists_carry_their_defaults() -> None:
    container = POD_SPEC.fields["containers"].schema.element
    assert container is not None
    ports = container.fields["ports"].schema
    assert ports.list_map_keys == ("containerPort", "protocol")
    assert ports.keyed_defaults == {"protocol": "TCP"}


def test_types_carry_their_form_their_values_and_their_name_in_errors() -> None:
    restart = POD_SPEC.fields["restartPolicy"].schema
    assert restart.enum == ("Always", "Never", "OnFailure")
    assert restart.go_type == "v1.RestartPolicy"
    assert POD_SPEC.fields["priority"].pointer
    assert POD_SPEC.fields["priority"].schema.format == "int32"
    assert POD_SPEC.fields["overhead"].schema.go_type == "v1.ResourceList"
    overhead = POD_SPEC.fields["overhead"].schema.element
    assert overhead is not None
    assert (overhead.type, overhead.format) == (SchemaType.STRING, "quantity")


def test_fields_of_embedded_structs_belong_to_the_outer_one() -> None:
    volume = schema_data().definitions["io.k8s.api.core.v1.Volume"]
    assert {"name", "configMap", "emptyDir"} <= volume.fields.keys()


def test_types_may_hold_themselves() -> None:
    props = schema_data().definitions["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]
    assert props.fields["properties"].schema.element is props
    assert props.fields["items"].schema.element is props


def test_options_are_known_in_every_group_and_version() -> None:
    for info in resources():
        assert kind_schema(info.kind._replace(kind="DeleteOptions")).fields["gracePeriodSeconds"].pointer


def test_a_status_is_reset_to_what_a_new_object_shows() -> None:
    ingress = {"status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}}
    reset_status(ingress, GroupVersionKind("networking.k8s.io", "v1", "Ingress"))
    assert ingress == {"status": {"loadBalancer": {}}}
    robot = {"status": {"ready": 1}, "spec": {}}
    reset_status(robot, GroupVersionKind("example.io", "v1", "Robot"))
    assert robot == {"spec": {}}
