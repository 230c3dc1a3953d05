"""The fields that parts of pods and volumes have in kube-apiserver's own form: facts for `go_form`.

Each part names its fields in their order, as `NAME:KIND`, or `NAME/JSON NAME:KIND` where more than capital letters
tell the JSON name from it. Kinds: s text, i number, b truth, quantity, { a map, selector a label selector, the name of
another part, and before any of these [ for a list and * for a value that may be missing. `metadata` stands for the
fields of ObjectMeta that are set.
"""

from __future__ import annotations

from collections.abc import Mapping

_VOLUME_SOURCES = (
    "GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource "
    "HostPath:*HostPathVolumeSource Glusterfs:*GlusterfsPersistentVolumeSource NFS:*NFSVolumeSource "
    "RBD:*RBDPersistentVolumeSource Quobyte:*QuobyteVolumeSource ISCSI:*ISCSIPersistentVolumeSource "
    "FlexVolume:*FlexPersistentVolumeSource Cinder:*CinderPersistentVolumeSource "
    "CephFS:*CephFSPersistentVolumeSource FC:*FCVolumeSource Flocker:*FlockerVolumeSource "
    "AzureFile:*AzureFilePersistentVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource "
    "AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource "
    "PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOPersistentVolumeSource Local:*LocalVolumeSource "
    "StorageOS:*StorageOSPersistentVolumeSource CSI:*CSIPersistentVolumeSource"
)

FIELDS: Mapping[str, str] = {
    "AWSElasticBlockStoreVolumeSource": "VolumeID:s FSType:s Partition:i ReadOnly:b",
    "Affinity": "NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity",
    "AppArmorProfile": "Type:s LocalhostProfile:*s",
    "AzureDiskVolumeSource": "DiskName:s DataDiskURI/diskURI:s CachingMode:*s FSType:*s ReadOnly:*b Kind:*s",
    "AzureFilePersistentVolumeSource": "SecretName:s ShareName:s ReadOnly:b SecretNamespace:*s",
    "AzureFileVolumeSource": "SecretName:s ShareName:s ReadOnly:b",
    "CSIPersistentVolumeSource": (
        "Driver:s VolumeHandle:s ReadOnly:b FSType:s VolumeAttributes:{ "
        "ControllerPublishSecretRef:*SecretReference NodeStageSecretRef:*SecretReference "
        "NodePublishSecretRef:*SecretReference ControllerExpandSecretRef:*SecretReference "
        "NodeExpandSecretRef:*SecretReference"
    ),
    "CSIVolumeSource": "Driver:s ReadOnly:*b FSType:*s VolumeAttributes:{ NodePublishSecretRef:*LocalObjectReference",
    "Capabilities": "Add:[s Drop:[s",
    "CephFSPersistentVolumeSource": "Monitors:[s Path:s User:s SecretFile:s SecretRef:*SecretReference ReadOnly:b",
    "CephFSVolumeSource": "Monitors:[s Path:s User:s SecretFile:s SecretRef:*LocalObjectReference ReadOnly:b",
    "CinderPersistentVolumeSource": "VolumeID:s FSType:s ReadOnly:b SecretRef:*SecretReference",
    "CinderVolumeSource": "VolumeID:s FSType:s ReadOnly:b SecretRef:*LocalObjectReference",
    "ClusterTrustBundleProjection": "Name:*s SignerName:*s LabelSelector:*selector Optional:*b Path:s",
    "ConfigMapEnvSource": "Name:s Optional:*b",
    "ConfigMapKeySelector": "Name:s Key:s Optional:*b",
    "ConfigMapProjection": "Name:s Items:[KeyToPath Optional:*b",
    "ConfigMapVolumeSource": "Name:s Items:[KeyToPath DefaultMode:*i Optional:*b",
    "Container": (
        "Name:s Image:s Command:[s Args:[s WorkingDir:s Ports:[ContainerPort EnvFrom:[EnvFromSource Env:[EnvVar "
        "Resources:ResourceRequirements ResizePolicy:[ContainerResizePolicy RestartPolicy:*s "
        "RestartPolicyRules:[ContainerRestartRule VolumeMounts:[VolumeMount VolumeDevices:[VolumeDevice "
        "LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle "
        "TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s SecurityContext:*SecurityContext "
        "Stdin:b StdinOnce:b TTY:b"
    ),
    "ContainerPort": "Name:s HostPort:i ContainerPort:i Protocol:s HostIP:s",
    "ContainerResizePolicy": "ResourceName:s RestartPolicy:s",
    "ContainerRestartRule": "Action:s ExitCodes:*ContainerRestartRuleOnExitCodes",
    "ContainerRestartRuleOnExitCodes": "Operator:s Values:[i",
    "DownwardAPIProjection": "Items:[DownwardAPIVolumeFile",
    "DownwardAPIVolumeFile": "Path:s FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:*i",
    "DownwardAPIVolumeSource": "Items:[DownwardAPIVolumeFile DefaultMode:*i",
    "EmptyDirVolumeSource": "Medium:s SizeLimit:*quantity",
    "EnvFromSource": "Prefix:s ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource",
    "EnvVar": "Name:s Value:s ValueFrom:*EnvVarSource",
    "EnvVarSource": (
        "FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector "
        "ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector"
    ),
    "EphemeralContainer": (
        "Name:s Image:s Command:[s Args:[s WorkingDir:s Ports:[ContainerPort EnvFrom:[EnvFromSource Env:[EnvVar "
        "Resources:ResourceRequirements ResizePolicy:[ContainerResizePolicy RestartPolicy:*s "
        "RestartPolicyRules:[ContainerRestartRule VolumeMounts:[VolumeMount VolumeDevices:[VolumeDevice "
        "LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle "
        "TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s SecurityContext:*SecurityContext "
        "Stdin:b StdinOnce:b TTY:b TargetContainerName:s"
    ),
    "EphemeralVolumeSource": "VolumeClaimTemplate:*PersistentVolumeClaimTemplate",
    "ExecAction": "Command:[s",
    "FCVolumeSource": "TargetWWNs:[s Lun:*i FSType:s ReadOnly:b WWIDs:[s",
    "FileKeySelector": "VolumeName:s Path:s Key:s Optional:*b",
    "FlexPersistentVolumeSource": "Driver:s FSType:s SecretRef:*SecretReference ReadOnly:b Options:{",
    "FlexVolumeSource": "Driver:s FSType:s SecretRef:*LocalObjectReference ReadOnly:b Options:{",
    "FlockerVolumeSource": "DatasetName:s DatasetUUID:s",
    "GCEPersistentDiskVolumeSource": "PDName:s FSType:s Partition:i ReadOnly:b",
    "GRPCAction": "Port:i Service:*s",
    "GitRepoVolumeSource": "Repository:s Revision:s Directory:s",
    "GlusterfsPersistentVolumeSource": "EndpointsName/endpoints:s Path:s ReadOnly:b EndpointsNamespace:*s",
    "GlusterfsVolumeSource": "EndpointsName/endpoints:s Path:s ReadOnly:b",
    "HTTPGetAction": "Path:s Port:i Host:s Scheme:s HTTPHeaders:[HTTPHeader",
    "HTTPHeader": "Name:s Value:s",
    "HostAlias": "IP:s Hostnames:[s",
    "HostPathVolumeSource": "Path:s Type:*s",
    "ISCSIPersistentVolumeSource": (
        "TargetPortal:s IQN:s Lun:i ISCSIInterface:s FSType:s ReadOnly:b Portals:[s "
        "DiscoveryCHAPAuth/chapAuthDiscovery:b SessionCHAPAuth/chapAuthSession:b SecretRef:*SecretReference "
        "InitiatorName:*s"
    ),
    "ISCSIVolumeSource": (
        "TargetPortal:s IQN:s Lun:i ISCSIInterface:s FSType:s ReadOnly:b Portals:[s "
        "DiscoveryCHAPAuth/chapAuthDiscovery:b SessionCHAPAuth/chapAuthSession:b SecretRef:*LocalObjectReference "
        "InitiatorName:*s"
    ),
    "ImageVolumeSource": "Reference:s PullPolicy:s",
    "KeyToPath": "Key:s Path:s Mode:*i",
    "Lifecycle": "PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:*s",
    "LifecycleHandler": "Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction Sleep:*SleepAction",
    "LocalObjectReference": "Name:s",
    "LocalVolumeSource": "Path:s FSType:*s",
    "NFSVolumeSource": "Server:s Path:s ReadOnly:b",
    "NodeAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector "
        "PreferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm"
    ),
    "NodeSelector": "NodeSelectorTerms:[NodeSelectorTerm",
    "NodeSelectorRequirement": "Key:s Operator:s Values:[s",
    "NodeSelectorTerm": "MatchExpressions:[NodeSelectorRequirement MatchFields:[NodeSelectorRequirement",
    "ObjectFieldSelector": "APIVersion:s FieldPath:s",
    "ObjectReference": "Kind:s Namespace:s Name:s UID:s APIVersion:s ResourceVersion:s FieldPath:s",
    "PersistentVolumeClaimSpec": (
        "AccessModes:[s Selector:*selector Resources:VolumeResourceRequirements VolumeName:s StorageClassName:*s "
        "VolumeMode:*s DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference "
        "VolumeAttributesClassName:*s"
    ),
    "PersistentVolumeClaimTemplate": "metadata Spec:PersistentVolumeClaimSpec",
    "PersistentVolumeClaimVolumeSource": "ClaimName:s ReadOnly:b",
    "PersistentVolumeSource": _VOLUME_SOURCES,
    "PersistentVolumeSpec": (
        f"Capacity:{{ {_VOLUME_SOURCES} AccessModes:[s ClaimRef:*ObjectReference PersistentVolumeReclaimPolicy:s "
        "StorageClassName:s MountOptions:[s VolumeMode:*s NodeAffinity:*VolumeNodeAffinity VolumeAttributesClassName:*s"
    ),
    "PhotonPersistentDiskVolumeSource": "PdID:s FSType:s",
    "PodAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm"
    ),
    "PodAffinityTerm": (
        "LabelSelector:*selector Namespaces:[s TopologyKey:s NamespaceSelector:*selector MatchLabelKeys:[s "
        "MismatchLabelKeys:[s"
    ),
    "PodAntiAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm"
    ),
    "PodCertificateProjection": (
        "SignerName:s KeyType:s MaxExpirationSeconds:*i CredentialBundlePath:s KeyPath:s CertificateChainPath:s "
        "UserAnnotations:{"
    ),
    "PodDNSConfig": "Nameservers:[s Searches:[s Options:[PodDNSConfigOption",
    "PodDNSConfigOption": "Name:s Value:*s",
    "PodOS": "Name:s",
    "PodReadinessGate": "ConditionType:s",
    "PodResourceClaim": "Name:s ResourceClaimName:*s ResourceClaimTemplateName:*s",
    "PodSchedulingGate": "Name:s",
    "PodSchedulingGroup": "PodGroupName:*s",
    "PodSecurityContext": (
        "HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:*b HostUsers:*b SELinuxOptions:*SELinuxOptions "
        "WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*i RunAsGroup:*i RunAsNonRoot:*b "
        "SupplementalGroups:[i SupplementalGroupsPolicy:*s FSGroup:*i FSGroupChangePolicy:*s Sysctls:[Sysctl "
        "SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile SELinuxChangePolicy:*s"
    ),
    "PodSpec": (
        "Volumes:[Volume InitContainers:[Container Containers:[Container EphemeralContainers:[EphemeralContainer "
        "RestartPolicy:s TerminationGracePeriodSeconds:*i ActiveDeadlineSeconds:*i DNSPolicy:s NodeSelector:{ "
        "ServiceAccountName:s AutomountServiceAccountToken:*b NodeName:s SecurityContext:*PodSecurityContext "
        "ImagePullSecrets:[LocalObjectReference Hostname:s Subdomain:s SetHostnameAsFQDN:*b Affinity:*Affinity "
        "SchedulerName:s Tolerations:[Toleration HostAliases:[HostAlias PriorityClassName:s Priority:*i "
        "PreemptionPolicy:*s DNSConfig:*PodDNSConfig ReadinessGates:[PodReadinessGate RuntimeClassName:*s "
        "Overhead:{ EnableServiceLinks:*b TopologySpreadConstraints:[TopologySpreadConstraint OS:*PodOS "
        "SchedulingGates:[PodSchedulingGate ResourceClaims:[PodResourceClaim Resources:*ResourceRequirements "
        "HostnameOverride:*s SchedulingGroup:*PodSchedulingGroup"
    ),
    "PodTemplateSpec": "metadata Spec:PodSpec",
    "PortworxVolumeSource": "VolumeID:s FSType:s ReadOnly:b",
    "PreferredSchedulingTerm": "Weight:i Preference:NodeSelectorTerm",
    "Probe": (
        "Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction GRPC:*GRPCAction "
        "InitialDelaySeconds:i TimeoutSeconds:i PeriodSeconds:i SuccessThreshold:i FailureThreshold:i "
        "TerminationGracePeriodSeconds:*i"
    ),
    "ProjectedVolumeSource": "Sources:[VolumeProjection DefaultMode:*i",
    "QuobyteVolumeSource": "Registry:s Volume:s ReadOnly:b User:s Group:s Tenant:s",
    "RBDPersistentVolumeSource": (
        "CephMonitors/monitors:[s RBDImage/image:s FSType:s RBDPool/pool:s RadosUser/user:s Keyring:s "
        "SecretRef:*SecretReference ReadOnly:b"
    ),
    "RBDVolumeSource": (
        "CephMonitors/monitors:[s RBDImage/image:s FSType:s RBDPool/pool:s RadosUser/user:s Keyring:s "
        "SecretRef:*LocalObjectReference ReadOnly:b"
    ),
    "ResourceClaim": "Name:s Request:s",
    "ResourceFieldSelector": "ContainerName:s Resource:s Divisor:quantity",
    "ResourceRequirements": "Limits:{ Requests:{ Claims:[ResourceClaim",
    "SELinuxOptions": "User:s Role:s Type:s Level:s",
    "ScaleIOPersistentVolumeSource": (
        "Gateway:s System:s SecretRef:*SecretReference SSLEnabled:b ProtectionDomain:s StoragePool:s "
        "StorageMode:s VolumeName:s FSType:s ReadOnly:b"
    ),
    "ScaleIOVolumeSource": (
        "Gateway:s System:s SecretRef:*LocalObjectReference SSLEnabled:b ProtectionDomain:s StoragePool:s "
        "StorageMode:s VolumeName:s FSType:s ReadOnly:b"
    ),
    "SeccompProfile": "Type:s LocalhostProfile:*s",
    "SecretEnvSource": "Name:s Optional:*b",
    "SecretKeySelector": "Name:s Key:s Optional:*b",
    "SecretProjection": "Name:s Items:[KeyToPath Optional:*b",
    "SecretReference": "Name:s Namespace:s",
    "SecretVolumeSource": "SecretName:s Items:[KeyToPath DefaultMode:*i Optional:*b",
    "SecurityContext": (
        "Capabilities:*Capabilities Privileged:*b SELinuxOptions:*SELinuxOptions "
        "WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*i RunAsGroup:*i RunAsNonRoot:*b "
        "ReadOnlyRootFilesystem:*b AllowPrivilegeEscalation:*b ProcMount:*s SeccompProfile:*SeccompProfile "
        "AppArmorProfile:*AppArmorProfile"
    ),
    "ServiceAccountTokenProjection": "Audience:s ExpirationSeconds:i Path:s",
    "SleepAction": "Seconds:i",
    "StorageOSPersistentVolumeSource": (
        "VolumeName:s VolumeNamespace:s FSType:s ReadOnly:b SecretRef:*ObjectReference"
    ),
    "StorageOSVolumeSource": "VolumeName:s VolumeNamespace:s FSType:s ReadOnly:b SecretRef:*LocalObjectReference",
    "Sysctl": "Name:s Value:s",
    "TCPSocketAction": "Port:i Host:s",
    "Toleration": "Key:s Operator:s Value:s Effect:s TolerationSeconds:*i",
    "TopologySpreadConstraint": (
        "MaxSkew:i TopologyKey:s WhenUnsatisfiable:s LabelSelector:*selector MinDomains:*i NodeAffinityPolicy:*s "
        "NodeTaintsPolicy:*s MatchLabelKeys:[s"
    ),
    "TypedLocalObjectReference": "APIGroup:*s Kind:s Name:s",
    "TypedObjectReference": "APIGroup:*s Kind:s Name:s Namespace:*s",
    "Volume": (
        "Name:s HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource "
        "GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource "
        "GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI:*ISCSIVolumeSource "
        "Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource "
        "RBD:*RBDVolumeSource Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource "
        "Cinder:*CinderVolumeSource CephFS:*CephFSVolumeSource Flocker:*FlockerVolumeSource "
        "DownwardAPI:*DownwardAPIVolumeSource FC:*FCVolumeSource AzureFile:*AzureFileVolumeSource "
        "ConfigMap:*ConfigMapVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource "
        "AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource "
        "Projected:*ProjectedVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource "
        "StorageOS:*StorageOSVolumeSource CSI:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource "
        "Image:*ImageVolumeSource"
    ),
    "VolumeDevice": "Name:s DevicePath:s",
    "VolumeMount": "Name:s ReadOnly:b RecursiveReadOnly:*s MountPath:s SubPath:s MountPropagation:*s SubPathExpr:s",
    "VolumeNodeAffinity": "Required:*NodeSelector",
    "VolumeProjection": (
        "Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection "
        "ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection "
        "PodCertificate:*PodCertificateProjection"
    ),
    "VolumeResourceRequirements": "Limits:{ Requests:{",
    "VsphereVirtualDiskVolumeSource": "VolumePath:s FSType:s StoragePolicyName:s StoragePolicyID:s",
    "WeightedPodAffinityTerm": "Weight:i PodAffinityTerm:PodAffinityTerm",
    "WindowsSecurityContextOptions": (
        "GMSACredentialSpecName:*s GMSACredentialSpec:*s RunAsUserName:*s HostProcess:*b"
    ),
}
