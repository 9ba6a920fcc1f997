"""Names of MXNet's `nd` that are not here, by what they wait for. docs/differences-from-mxnet.md has the same table."""

__all__ = ["WAITING", "reason"]

# What is waited for -> names, with the module inside `nd` before a dot.
WAITING: dict[str, str] = {
    "detection and spatial transformers": """
        BilinearSampler Correlation Crop GridGenerator ROIPooling SpatialTransformer contrib.DeformableConvolution
        contrib.DeformablePSROIPooling contrib.ModulatedDeformableConvolution contrib.MultiBoxDetection
        contrib.MultiBoxPrior contrib.MultiBoxTarget contrib.MultiProposal contrib.PSROIPooling contrib.Proposal
        contrib.ROIAlign contrib.RROIAlign contrib.bipartite_matching contrib.box_decode contrib.box_encode
        contrib.box_iou contrib.box_nms contrib.box_non_maximum_suppression
    """,
    "images": """
        imdecode image
    """,
    "sparse arrays and graphs": """
        cast_storage contrib.SparseEmbedding contrib.dgl_adjacency contrib.dgl_csr_neighbor_non_uniform_sample
        contrib.dgl_csr_neighbor_uniform_sample contrib.dgl_graph_compact contrib.dgl_subgraph contrib.edge_id
        contrib.getnnz sparse
    """,
    "control flow": """
        contrib.cond contrib.foreach contrib.while_loop
    """,
    "compiled graphs": """
        CachedOp
    """,
    "quantization": """
        contrib.calibrate_entropy contrib.dequantize contrib.quantize contrib.quantize_asym contrib.quantize_v2
        contrib.quantized_act contrib.quantized_batch_norm contrib.quantized_concat contrib.quantized_conv
        contrib.quantized_elemwise_add contrib.quantized_elemwise_mul contrib.quantized_embedding
        contrib.quantized_flatten contrib.quantized_fully_connected contrib.quantized_pooling contrib.quantized_rnn
        contrib.requantize
    """,
    "Hawkes processes: nothing asks for them": """
        contrib.hawkesll
    """,
    "nothing: they are the inside of MXNet, not for users": """
        get_indexing_dispatch_code get_oshape_of_gather_nd_op indexing_key_expand_implicit_axes random.check_call
        contrib.backward_gradientmultiplier contrib.backward_hawkesll contrib.backward_index_copy
        contrib.backward_quadratic
    """,
}


def reason(name: str) -> str | None:
    """What a name waits for; None for one that MXNet does not have.

    >>> reason("sparse"), reason("contrib.box_nms"), reason("Convolutoin")
    ('sparse arrays and graphs', 'detection and spatial transformers', None)
    """
    return next((why for why, names in WAITING.items() if name in names.split()), None)
