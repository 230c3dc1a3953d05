"""`--feature-gates`: kube-apiserver's names for what may be on or off. What is served is as by default there."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.meta.field import go_bool, go_quote
from watchkeeper.server.errors import StartupError


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOCKED_ON = _names(
    """
    APIServerTracing AggregatedDiscoveryRemoveBetaType AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
    AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
    CRDValidationRatcheting CSIServiceAccountTokenSecrets ConsistentListFromCache CustomResourceFieldSelectors
    DRAAdminAccess DeclarativeValidation DisableAllocatorDualWrite DisableNodeKubeProxyVersion ExecProbeTimeout
    ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers InPlacePodVerticalScaling
    JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI
    KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
    LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
    NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion
    PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking PodSchedulingReadiness
    PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
    RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization
    RetryGenerateName SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerQueueingHints
    SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
    ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SidecarContainers
    StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
    SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
    VolumeAttributesClass WinDSR WinOverlay
    """
)
_LOCKED_OFF = _names(
    """
    AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
    """
)
"""What nobody can turn off, and on."""
_ON = _names(
    """
    APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs
    AuthorizePodWebsocketUpgradeCreatePermission CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding
    ComponentFlagz ComponentStatusz ConstrainedImpersonation ContainerRestartRules DRAConsumableCapacity
    DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList
    DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization DeclarativeValidationBeta
    DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency DynamicResourceAllocation EnvFiles
    ExtendWebSocketsToKubelet HPAConfigurableTolerance HostnameOverride InPlacePodLevelResourcesVerticalScaling
    InPlacePodVerticalScalingInitContainers KubeletEnsureSecretPulledImages
    KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
    MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
    MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy
    NodeDeclaredFeatures OpenAPIEnums PodDeletionCost PodLevelResources PodTopologyLabelsAdmission
    PortForwardWebsockets RelaxedServiceNameValidation RemoteRequestHeaderUID ResourceHealthStatus
    ResourceHealthStatusMessage RestartAllContainersOnContainerExits ServiceAccountNodeAudienceRestriction
    ServiceCIDRStatusFieldWiping SizeBasedListCostEstimate StorageNamespaceIndex StorageVersionHash
    StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector
    StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
    TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
    WatchCacheInitializationPostStartHook WatchList WatchListClient
    """
)
"""On unless turned off, which would change what is served."""
_OFF = _names(
    """
    APIServingWithRoutine AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
    AllowUnsafeMalformedObjectDeletion CBORServingAndStorage ClientsAllowCBOR ClientsPreferCBOR ClusterTrustBundle
    ClusterTrustBundleProjection ConcurrentWatchObjectDecode ContainerStopSignals CoordinatedLeaderElection
    CrossNamespaceVolumeDataSource DRADeviceTaintRules DRAListTypeAttributes DRANodeAllocatableResources
    DRAResourcePoolStatus DRAWorkloadResourceClaims DeclarativeValidationTakeover GenericWorkload HPAScaleToZero
    ImageVolumeWithDigest KMSv1 ManifestBasedAdmissionControlConfig MaxUnavailableStatefulSet MutablePVNodeAffinity
    NativeHistograms PodCertificateRequest PodLogsQuerySplitStreams PodsAPI SELinuxMount ShardedListAndWatch
    StorageVersionAPI StorageVersionMigrator TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
    UserNamespacesHostNetworkSupport VolumeLimitScaling WorkloadAwarePreemption WorkloadWithJob
    """
)
"""Off unless turned on, which would change what is served."""
_ELSEWHERE = _names(
    """
    AtomicFIFO CPUManagerPolicyAlphaOptions CPUManagerPolicyBetaOptions CRIListStreaming CSIVolumeHealth
    ChangeContainerStatusOnKubeletRestart ClientsAllowCARotation ClientsAllowTLSCacheGC
    CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ContainerCheckpoint
    ContextualLogging ControllerManagerReleaseLeaderElectionLockOnExit CustomCPUCFSQuotaPeriod
    DRASchedulerFilterTimeout DisableCPUQuotaWithExclusiveCPUs EventedPLEG GangScheduling GracefulNodeShutdown
    GracefulNodeShutdownBasedOnPodPriority InOrderInformersBatchProcess InPlacePodVerticalScalingExclusiveCPUs
    InPlacePodVerticalScalingExclusiveMemory InformerResourceVersion KubeletCrashLoopBackOffMax
    KubeletInUserNamespace KubeletPodResourcesListUseActivePods KubeletRegistrationGetOnExistsOnly
    KubeletSeparateDiskGC LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions MemoryQoS
    NominatedNodeNameForExpectation OpportunisticBatching PLEGOnDemandRelist PersistentVolumeClaimUnusedSinceTime
    PodAndContainerStatsFromCRI PodLevelResourceManagers PodReadyToStartContainersCondition
    PreventStaticPodAPIReferences QOSReserved ReduceDefaultCrashLoopBackOffDecay ReloadKubeletClientCAFile
    ReloadKubeletServerCertificateFile RotateKubeletServerCertificate RuntimeClassInImageCriApi
    SchedulerAsyncAPICalls SchedulerAsyncPreemption SchedulerPopFromBackoffQ StaleControllerConsistencyDaemonSet
    StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
    StatefulSetSemanticRevisionComparison StorageCapacityScoring TopologyManagerPolicyAlphaOptions
    TopologyManagerPolicyBetaOptions UnlockWhileProcessingFIFO WindowsCPUAndMemoryAffinity
    WindowsGracefulNodeShutdown WindowsHostNetwork
    """
)
"""What kubelets, schedulers, controllers and clients do by; nothing that is served depends on them."""
_ALL_ALPHA, _ALL_BETA = "AllAlpha", "AllBeta"


def check_feature_gates(settings: Sequence[str]) -> None:
    """Check settings such as `WatchList=true`, which may begin with `kube:`.

    Raises StartupError for what kube-apiserver 1.36 does not take either, in its words, and for settings that would
    change what is served, since that cannot be changed here.
    """
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.removeprefix("kube:").partition("="))
        if not equals:
            raise StartupError(f"--feature-gates: missing bool value for {name}")
        on = go_bool(text)
        if on is None:
            why = f"strconv.ParseBool: parsing {go_quote(text)}: invalid syntax"
            raise StartupError(f"--feature-gates: invalid value of {name}={text}, err: {why}")
        _check(name, on)


def _check(name: str, on: bool) -> None:
    word = str(on).lower()
    if name in _ELSEWHERE:
        return
    if name in _LOCKED_ON or name in _LOCKED_OFF:
        locked = name in _LOCKED_ON
        if on != locked:
            why = f"feature is locked to {str(locked).lower()}"
            raise StartupError(f"--feature-gates: cannot set feature gate {name} to {word}, {why}")
    elif name in (_ALL_ALPHA, _ALL_BETA) or name in _ON or name in _OFF:
        # By default some betas are on and others off, so that either setting of all of them changes something.
        if name == _ALL_BETA or on != (name in _ON):
            raise StartupError(f"--feature-gates: {name}={word} would change what is served, which is as by default")
    else:
        raise StartupError(f"--feature-gates: unrecognized feature gate: {name}")
